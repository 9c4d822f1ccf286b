import { statement } from '../../database/index.ts'

export interface SuspectRow {
  readonly type: string
  readonly tenantId: string
  readonly urgency: number
}

/**
 * Where due jobs wait that were running when a worker died, of which this engine may take one now: at most ten, in any
 * order. $1 the types it knows, $2 the newest version of each one's payload that it knows, $3 the worker, $4 whether it
 * holds nothing.
 *
 * An engine that holds nothing takes any of them. Those that are at work leave it to one of them, lest the whole fleet
 * stops claiming for one job: the one that comes first in an order of their ids which is another one for each job, so
 * that many suspects are spread over many engines, and a dead engine's part falls to the others.
 *
 * The first hundred by due, through `job_suspect`; those whose own gates are shut do not make an engine stop for them.
 */
export const FIND_SUSPECTS = statement<SuspectRow>(
  'jobs.find_suspects',
  `select suspect.type, suspect.tenant_id::text as "tenantId", suspect.urgency
  from (
    select job.id, type, version, tenant_id, urgency, payload_version
    from job join unnest($1::text[], $2::smallint[]) as known(type, version) using (type)
    where worker_id is null and lost > 0 and due <= now() and payload_version <= version
    order by due limit 100
  ) suspect
  left join job_type kind on kind.type = suspect.type
  left join job_breaker breaker on breaker.type = kind.type and breaker.dependency = kind.dependency
  where kind.paused_at is null and job_breaker_lets_try(breaker)
    and least(1, job_type_room(kind), job_tenant_room(kind, suspect.tenant_id)) > 0
    and ($4::boolean or $3::uuid = (
      select w.id from job_worker w
      where lease_until > now() and (w.types ->> suspect.type)::integer >= suspect.payload_version
      order by md5(w.id::text || suspect.id::text) limit 1
    ))
  order by random() limit 10`,
)
