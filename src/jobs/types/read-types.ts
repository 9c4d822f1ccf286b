import { statement, type Queryable } from '../../database/index.ts'
import type { JobClass } from '../definition.ts'

/** How often and how long jobs of a type may be tried, as new ones are enqueued. */
export interface TypePolicy {
  /** Name and version: people speak of `mail-delivery 2`. */
  readonly name: string
  readonly version: number
  readonly maxAttempts: number
  readonly maxLost: number
  readonly delaysMs: readonly number[]
  readonly jitter: number
  readonly timeoutMs: number
  /** From the begin of the first attempt; null: as long as there are attempts. */
  readonly maxElapsedMs: number | null
  /** What differs per class of error. */
  readonly rules: Readonly<Record<string, { readonly maxAttempts?: number; readonly delaysMs?: readonly number[] }>>
}

/** A circuit breaker that has counted a failure since it was closed last, or is not closed. */
export interface TypeBreaker {
  readonly dependency: string
  readonly state: 'CLOSED' | 'OPEN' | 'HALF_OPEN'
  /** In a row, over all processes. */
  readonly failures: number
  readonly openedAt: Date | null
  readonly openUntil: Date | null
}

/** A job type as the newest process that knows it has declared it, and how it is. */
export interface TypeRow {
  readonly type: string
  readonly class: JobClass
  readonly policy: TypePolicy
  readonly payloadVersion: number
  /** Why a second run does no harm. */
  readonly idempotency: string | null
  /** Why its policy is wider than its class allows. */
  readonly motivation: string | null
  /** The outside service that all of its jobs depend on; null when it depends on the job, or there is none. */
  readonly dependency: string | null
  readonly maxRunning: number | null
  readonly maxRunningPerTenant: number | null
  readonly rateJobs: number | null
  readonly ratePerMs: number | null
  readonly declaredAt: Date
  readonly pausedAt: Date | null
  readonly pausedBy: string | null
  readonly pausedReason: string | null
  readonly failingSince: Date | null
  readonly breakers: readonly TypeBreaker[]
  /** Workers with a live lease that know the type and its newest payload version. */
  readonly workers: number
}

/** Every type that some process has declared, by name. Reads no job. */
export async function readTypes(on: Queryable): Promise<TypeRow[]> {
  const rows = await on.run(READ_TYPES, [])
  return rows.map(({ breakers, ...row }) => ({
    ...row,
    breakers: breakers.map((breaker) => ({
      ...breaker,
      openedAt: momentOf(breaker.openedAt),
      openUntil: momentOf(breaker.openUntil),
    })),
  }))
}

const momentOf = (text: string | null): Date | null => (text === null ? null : new Date(text))

type Row = Omit<TypeRow, 'breakers'> & {
  readonly breakers: readonly (Omit<TypeBreaker, 'openedAt' | 'openUntil'> & {
    readonly openedAt: string | null
    readonly openUntil: string | null
  })[]
}

// A worker without types is of a release that knew no versions: it counts as one that knows everything.
const READ_TYPES = statement<Row>(
  'jobs.read_types',
  `select t.type, t.class, t.payload_version::int as "payloadVersion", t.idempotency, t.motivation, t.dependency,
    t.max_running as "maxRunning", t.max_running_per_tenant as "maxRunningPerTenant", t.rate_jobs as "rateJobs",
    t.rate_per_ms as "ratePerMs", t.declared_at as "declaredAt", t.paused_at as "pausedAt", t.paused_by as "pausedBy",
    t.paused_reason as "pausedReason", t.failing_since as "failingSince",
    jsonb_build_object('name', t.policy_name, 'version', coalesce(v.version, 1), 'maxAttempts', p.max_attempts,
      'maxLost', p.max_lost, 'delaysMs', p.delays_ms, 'jitter', round(p.jitter::numeric, 4), 'timeoutMs', p.timeout_ms,
      'maxElapsedMs', p.max_elapsed_ms, 'rules', p.rules) as policy,
    coalesce((select jsonb_agg(jsonb_build_object('dependency', b.dependency, 'state', b.state, 'failures', b.failures,
        'openedAt', b.opened_at, 'openUntil', b.open_until) order by b.dependency)
      from job_breaker b where b.type = t.type and (b.state <> 'CLOSED' or b.failures > 0)), '[]') as breakers,
    (select count(*)::int from job_worker w where w.lease_until > now()
      and (w.types ->> t.type)::int >= t.payload_version) as workers
  from job_type t
  join job_policy p on p.id = t.policy_id
  left join job_policy_version v on v.name = t.policy_name and v.policy_id = t.policy_id
  order by t.type`,
)
