import { statement } from '../../database/index.ts'
import { HELD_UNTIL } from '../operating/held.ts'

/** The most jobs that are counted as being ahead. */
export const MOST_AHEAD = 1_000

export interface WaitingRow {
  readonly jobId: string
  readonly type: string
  readonly payloadVersion: number
  readonly dueAt: Date
  readonly isDue: boolean
  readonly held: boolean
  readonly pausedAt: Date | null
  readonly pausedReason: string | null
  /** Some live worker knows the type and this version of its payload. */
  readonly hasWorker: boolean
  readonly openDependency: string | null
  readonly openUntil: Date | null
  readonly lost: number
  readonly maxRunning: number | null
  readonly running: number | null
  readonly maxRunningPerTenant: number | null
  readonly runningOfTenant: number | null
  /** When the tenant's rate allows the next one; null when it does now, or there is none. */
  readonly rateAllowsAt: Date | null
  /** Of the first `MOST_AHEAD` jobs of its type and tenant that would be claimed before it: how many are due. */
  readonly ahead: number
  /** There are more than these before it. */
  readonly moreAhead: boolean
}

/**
 * What there is to say about jobs ($1 ids as JSON) that wait; those that do not are left out. Each fact is a look-up
 * through a key, a count through the partial index of what runs limited, or at most 1,000 entries of `job_waiting`:
 * nothing grows with the backlog, and nothing is locked, so that watching hides no job from a claim (pain 8).
 *
 * A dependency that is the payload's to name stands in the row's last event: the breaker sent the job back with it.
 */
export const WAITING_BECAUSE = statement<WaitingRow>(
  'jobs.waiting_because',
  `with wanted as materialized (select value::uuid as id from jsonb_array_elements_text($1::jsonb))
  select job.id::text as "jobId", job.type, job.payload_version::int as "payloadVersion", job.due as "dueAt",
    job.due <= now() as "isDue", job.due >= '${HELD_UNTIL}' as held,
    kind.paused_at as "pausedAt", kind.paused_reason as "pausedReason",
    exists (
      select from job_worker w where lease_until > now() and (w.types ->> job.type)::integer >= job.payload_version
    ) as "hasWorker",
    breaker.dependency as "openDependency", breaker.until as "openUntil", job.lost::int as lost,
    kind.max_running as "maxRunning", kind.max_running - job_type_room(kind) as running,
    kind.max_running_per_tenant as "maxRunningPerTenant",
    case when kind.max_running_per_tenant is not null then (
      select count(*)::int from job r
      where r.type = job.type and r.tenant_id = job.tenant_id and r.worker_id is not null and r.limited
    ) end as "runningOfTenant",
    case when bucket.wait_ms > 0 then now() + interval '1 millisecond' * bucket.wait_ms end as "rateAllowsAt",
    front.due as ahead, front.looked > ${MOST_AHEAD} as "moreAhead"
  from wanted
  cross join lateral (select * from job where id = wanted.id and worker_id is null) job
  left join job_type kind on kind.type = job.type
  left join lateral (
    select dependency, case state when 'OPEN' then open_until else probe_until end as until from job_breaker b
    where b.type = job.type and b.state <> 'CLOSED' and b.dependency = coalesce(kind.dependency, (
      select case e.reason when 'job.breaker_open' then e.message end
      from job_event e where e.job_id = job.id order by epoch desc, e.id desc limit 1
    ))
  ) breaker on true
  left join lateral (
    select job_rate_wait_ms(tokens, refilled_at, kind.rate_jobs, kind.rate_per_ms, now()) as wait_ms from job_rate
    where job_rate.type = job.type and job_rate.tenant_id = job.tenant_id
  ) bucket on true
  cross join lateral (
    select count(*) filter (where due <= now() and nth <= ${MOST_AHEAD})::int as due, count(*) as looked
    from (
      select due, row_number() over (order by urgency, due) as nth from job before
      where worker_id is null and before.type = job.type and before.tenant_id = job.tenant_id
        and (before.urgency, before.due) < (job.urgency, job.due)
      order by urgency, due limit ${MOST_AHEAD} + 1
    ) before
  ) front`,
)
