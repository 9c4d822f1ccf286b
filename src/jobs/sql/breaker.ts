import { statement } from '../../database/index.ts'

export interface BreakerRow {
  readonly type: string
  readonly dependency: string
  readonly state: 'CLOSED' | 'OPEN' | 'HALF_OPEN'
  /** Failures in a row, over all processes. */
  readonly failures: number
  /** How often in a row it was opened. */
  readonly trips: number
  readonly probeJobId: string | null
  /** Milliseconds until the next job may try: of an open one the rest of its pause, else what the present one has left. */
  readonly closedForMs: number
  /** Until when an open one stays open, at the least. */
  readonly openUntil: Date | null
}

const COLUMNS = `type, dependency, state, failures, trips, probe_job_id::text as "probeJobId",
    case when job_breaker_lets_try(breaker) then 0 else greatest(0, extract(epoch from
      case state when 'OPEN' then open_until else probe_until end - clock_timestamp()) * 1000)
    end::float8 as "closedForMs", open_until as "openUntil"`

/** Those of these types ($1) that failed lately; of all others there is nothing to know. */
export const READ_BREAKERS = statement<BreakerRow>(
  'jobs.read_breakers',
  `select ${COLUMNS} from job_breaker breaker where type = any($1::text[]) and (state <> 'CLOSED' or failures > 0)`,
)

/** One more failure in a row: $1 type, $2 dependency. Nothing when it is open: what began before that does not count. */
export const COUNT_FAILURE = statement<BreakerRow>(
  'jobs.breaker_count_failure',
  `insert into job_breaker as breaker (type, dependency, state, failures) values ($1, $2, 'CLOSED', 1)
  on conflict (type, dependency) do update set failures = breaker.failures + 1, changed_at = clock_timestamp()
  where breaker.state = 'CLOSED'
  returning ${COLUMNS}`,
)

/** The row of failures has ended: $1 type, $2 dependency. */
export const FORGET_FAILURES = statement<never>(
  'jobs.breaker_forget_failures',
  `update job_breaker set failures = 0, changed_at = clock_timestamp()
  where type = $1 and dependency = $2 and state = 'CLOSED' and failures > 0`,
)

/**
 * Opens it, when so many failures in a row ($3) ask for it or its probing job ($4) has failed. The pause is $5
 * milliseconds, doubled each time, $6 at most, and not less than the other side asked for ($7, or null).
 */
export const OPEN_BREAKER = statement<BreakerRow>(
  'jobs.breaker_open',
  `update job_breaker breaker set state = 'OPEN', trips = trips + 1, probe_job_id = null, probe_until = null,
    opened_at = case when state = 'CLOSED' then clock_timestamp() else opened_at end, changed_at = clock_timestamp(),
    open_until = clock_timestamp() + interval '1 millisecond' *
      greatest(least($5::float8 * 2 ^ least(trips, 30), $6::float8), coalesce($7::float8, 0))
  where type = $1 and dependency = $2
    and ((state = 'CLOSED' and failures >= $3::integer) or (state = 'HALF_OPEN' and probe_job_id = $4::uuid))
  returning ${COLUMNS}`,
)

/** Its probing job ($3) has succeeded. */
export const CLOSE_BREAKER = statement<BreakerRow>(
  'jobs.breaker_close',
  `update job_breaker breaker set state = 'CLOSED', failures = 0, trips = 0, opened_at = null, open_until = null,
    probe_job_id = null, probe_until = null, changed_at = clock_timestamp()
  where type = $1 and dependency = $2 and state = 'HALF_OPEN' and probe_job_id = $3::uuid
  returning ${COLUMNS}`,
)

/** Makes this job ($3) the one that tries, if it is time; answers with nothing when another one is. */
export const PROBE_BREAKER = statement<BreakerRow>(
  'jobs.breaker_probe',
  `update job_breaker breaker set state = 'HALF_OPEN', probe_job_id = $3::uuid, changed_at = clock_timestamp(),
    probe_until = clock_timestamp() + interval '15 seconds' + interval '1 millisecond' * $4::float8
  where type = $1 and dependency = $2
    and state <> 'CLOSED' and job_breaker_lets_try(breaker)
  returning ${COLUMNS}`,
)

/** The probing job ($3) proved nothing: the next one may try at once. */
export const RELEASE_PROBE = statement<never>(
  'jobs.breaker_release_probe',
  `update job_breaker set probe_until = clock_timestamp(), changed_at = clock_timestamp()
  where type = $1 and dependency = $2 and state = 'HALF_OPEN' and probe_job_id = $3::uuid`,
)
