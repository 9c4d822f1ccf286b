import { statement } from '../../database/index.ts'

/**
 * The oldest due job of each type. A loose scan over the lanes of `job_waiting`: a lane's first row is its oldest, so
 * the cost is the number of lanes that have something waiting, never the backlog.
 */
const OLDEST = `lane as (
    (select type, tenant_id, urgency, due from job where worker_id is null
      order by type, tenant_id, urgency, due limit 1)
    union all
    select next.* from lane cross join lateral (
      select type, tenant_id, urgency, due from job
      where worker_id is null and (type, tenant_id, urgency) > (lane.type, lane.tenant_id, lane.urgency)
      order by type, tenant_id, urgency, due limit 1
    ) next
  ), oldest as (
    select type, (extract(epoch from clock_timestamp() - min(due)) * 1000)::float8 as waiting_ms
    from lane where due <= now() group by type
  )`

export const OLDEST_DUE = statement<{ readonly type: string; readonly waitingMs: number }>(
  'jobs.oldest_due',
  `with recursive ${OLDEST} select type, waiting_ms as "waitingMs" from oldest order by type`,
)

export interface TypeHealthRow {
  readonly type: string
  readonly failing: boolean
  /** Of the jobs that ended for good in the window: how many failed, how many there were. */
  readonly failed: number
  readonly ended: number
  /** How long the oldest due job has been waiting; 0 without one, and for a type that is paused. */
  readonly overdueMs: number
}

/** What the rule of the alerts looks at, of every declared type. $1 minutes. */
export const TYPE_HEALTH = statement<TypeHealthRow>(
  'jobs.type_health',
  `with recursive ${OLDEST}, lately as (
    select type, sum(failed)::int as failed, sum(ended)::int as ended from job_ended_lately
    where minute > clock_timestamp() - $1::int * interval '1 minute' group by type
  )
  select type, failing_since is not null as failing, coalesce(lately.failed, 0) as failed,
    coalesce(lately.ended, 0) as ended,
    case when paused_at is null then coalesce(oldest.waiting_ms, 0) else 0 end::float8 as "overdueMs"
  from job_type left join lately using (type) left join oldest using (type)
  order by type`,
)

/** Raises ($2 true) or takes back the alert of a type ($1); no row when somebody else has done it. */
export const MARK_FAILING = statement<{ readonly type: string }>(
  'jobs.mark_failing',
  `update job_type set failing_since = case when $2::boolean then clock_timestamp() end
  where type = $1 and (failing_since is null) = $2::boolean returning type`,
)

export const FORGET_ENDED_LATELY = statement<never>(
  'jobs.forget_ended_lately',
  `delete from job_ended_lately where minute < now() - interval '1 hour'`,
)

export interface AlertedTypeRow {
  readonly type: string
  readonly failingSince: Date | null
  readonly pausedAt: Date | null
  readonly pausedBy: string | null
  readonly pausedReason: string | null
}

export const ALERTED_TYPES = statement<AlertedTypeRow>(
  'jobs.alerted_types',
  `select type, failing_since as "failingSince", paused_at as "pausedAt", paused_by as "pausedBy",
    paused_reason as "pausedReason"
  from job_type where failing_since is not null or paused_at is not null order by type`,
)

/** Answered by an index that holds nothing else. */
export const QUARANTINED = statement<{ readonly type: string; readonly jobs: number }>(
  'jobs.quarantined',
  `select type, count(*)::int as jobs from job_finished where status = 'FAILED' and failure_class = 'LOST'
  group by type order by type`,
)

export interface OpenBreakerRow {
  readonly type: string
  readonly dependency: string
  readonly state: 'OPEN' | 'HALF_OPEN'
  readonly since: Date
  readonly openUntil: Date | null
}

export const OPEN_BREAKERS = statement<OpenBreakerRow>(
  'jobs.open_breakers',
  `select type, dependency, state, coalesce(opened_at, changed_at) as since, open_until as "openUntil"
  from job_breaker where state <> 'CLOSED' order by type, dependency`,
)
