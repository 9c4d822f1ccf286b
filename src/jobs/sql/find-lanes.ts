import { statement } from '../../database/index.ts'

export interface LaneRow {
  readonly type: string
  readonly tenantId: string
  readonly urgency: number
  /** Its type has a limit, or its service has to be tried by one job: it is claimed by itself. */
  readonly gated: boolean
  /** Milliseconds until its first job is due and its tenant's rate allows one; not positive when that is now. */
  readonly dueInMs: number
}

/**
 * Which (type, tenant, priority) lanes have something waiting. $1 the types this process knows, $2 the newest version
 * of each one's payload that it knows, $3 the tenant at which to begin, $4 most lanes per type.
 *
 * A loose index scan: every hop is one descent of `job_waiting` to the next lane's first row, whose due time
 * comes with it. So the cost is the number of lanes, never the backlog. Once a tenant's most urgent lane is due,
 * the hop skips the tenant's lesser ones; not when its first job is none for an ordinary claim here (too new a
 * payload, a suspect), lest the job hide what is behind it.
 *
 * A type that is paused, or whose breaker is open, is left out before the first hop: a million such jobs cost one
 * look at its row (pain 6).
 *
 * Rejected: a window over the backlog (699 ms and temporary files for 300,000 jobs of 1,000 tenants); a row per
 * tenant with a counter or an earliest-due hint (fast to read, but every enqueue of a tenant then queues for
 * that row, and an enqueue that commits while a claim empties the lane is missed).
 */
export const FIND_LANES = statement<LaneRow>(
  'jobs.find_lanes',
  `with recursive known as materialized (
    select given.type, given.version,
      coalesce(kind.limited, false) or coalesce(breaker.state, 'CLOSED') <> 'CLOSED' as gated
    from unnest($1::text[], $2::smallint[]) as given(type, version)
    left join job_type kind using (type)
    left join job_breaker breaker on breaker.type = kind.type and breaker.dependency = kind.dependency
    where kind.paused_at is null and (coalesce(breaker.state, 'CLOSED') = 'CLOSED' or job_breaker_lets_try(breaker))
  ), lane as (
    select known.*, first.*
    from known cross join lateral (
      select tenant_id, urgency, due, lost = 0 and payload_version <= known.version as ordinary, 1 as hops from job
      where worker_id is null and job.type = known.type and (tenant_id, urgency) > ($3::uuid, -32768)
      order by tenant_id, urgency, due limit 1
    ) first
    union all
    select lane.type, lane.version, lane.gated, next.*
    from lane cross join lateral (
      select tenant_id, urgency, due, lost = 0 and payload_version <= lane.version, lane.hops + 1 from job
      where worker_id is null and job.type = lane.type and (tenant_id, urgency) >
        (lane.tenant_id, case when lane.due <= now() and lane.ordinary then 32767 else lane.urgency end)
      order by tenant_id, urgency, due limit 1
    ) next
    where lane.hops < $4
  )
  select type, tenant_id::text as "tenantId", urgency, gated,
    greatest((extract(epoch from due - now()) * 1000)::float8, case when gated then (
      select job_rate_wait_ms(tokens, refilled_at, rate_jobs, rate_per_ms, now())
      from job_rate join job_type using (type)
      where job_rate.type = lane.type and job_rate.tenant_id = lane.tenant_id
    ) end) as "dueInMs"
  from lane`,
)
