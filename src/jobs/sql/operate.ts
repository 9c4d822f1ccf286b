import { statement } from '../../database/index.ts'
import { HELD_UNTIL } from '../operating/held.ts'
import type { JobStatus } from '../definition.ts'

/** A job locked for an operator's act, as it is before. */
export interface ActableRow {
  readonly id: string
  readonly status: JobStatus
  readonly attempt: number
  readonly attemptBase: number
  readonly maxAttempts: number
  readonly lost: number
  readonly due: Date | null
  readonly held: boolean
  readonly cancelRequested: boolean
  readonly correlationId: string
  readonly batchId: string | null
  readonly payload: unknown
  readonly payloadVersion: number
}

const IDS = '(array(select jsonb_array_elements_text($1::jsonb)))::uuid[]'

/**
 * Jobs of one tenant and type, locked in id order: $1 ids as JSON, $2 tenant, $3 type. A bulk act passes over rows that
 * somebody else holds (a handler's transaction holds its job's until it ends); a single one waits a moment.
 */
const locking = (table: 'job' | 'job_finished', columns: string, skip: boolean): string =>
  `with locked as materialized (
    select * from ${table} where id = any(${IDS}) and tenant_id = $2::uuid and type = $3
    order by id for update${skip ? ' skip locked' : ''}
  )
  select l.id::text, l.status, l.attempt::int as attempt, l.attempt_base::int as "attemptBase",
    policy.max_attempts::int as "maxAttempts", l.lost::int as lost, ${columns}, l.correlation_id as "correlationId",
    l.batch_id::text as "batchId", l.payload, l.payload_version::int as "payloadVersion"
  from locked l join job_policy policy on policy.id = l.policy_id
  order by l.id`

const LIVE = `case when l.worker_id is null and l.due < '${HELD_UNTIL}' then l.due end as due,
    l.worker_id is null and l.due >= '${HELD_UNTIL}' as held, l.cancel_requested_at is not null as "cancelRequested"`
const OVER = `null::timestamptz as due, false as held, false as "cancelRequested"`

export const LOCK_JOBS = {
  LIVE: {
    waiting: statement<ActableRow>('jobs.lock_live', locking('job', LIVE, false)),
    skipping: statement<ActableRow>('jobs.lock_live_skipping', locking('job', LIVE, true)),
  },
  OVER: {
    waiting: statement<ActableRow>('jobs.lock_over', locking('job_finished', OVER, false)),
    skipping: statement<ActableRow>('jobs.lock_over_skipping', locking('job_finished', OVER, true)),
  },
} as const

/** What every act on a job that does not run leaves in the second log. $3 reason, $4 actor. */
const logged = (rows: string, from: string, to: string, due: string): string =>
  `logged as (
    insert into job_event (epoch, job_id, tenant_id, type, attempt, claim_epoch, "from", "to", reason, actor,
      next_attempt_at, correlation_id)
    select (select event_log_current_epoch()), id, tenant_id, type, attempt, claim_epoch, ${from}, ${to}, $3, $4, ${due},
      correlation_id
    from ${rows}
  )`

export interface MovedRow {
  readonly id: string
  /** Null: held. */
  readonly due: Date | null
}

/**
 * Failed jobs ($1 ids, $2 tenant, locked before) go back to where jobs wait, with a new window of attempts. The claim
 * epoch stays, so that whoever held an earlier attempt stays fenced. What has killed workers comes back as a suspect:
 * it runs where nothing else does, and the next loss is its last. What a schedule had fired is open again, so that the
 * next firing minds it.
 */
export const RETRY_FAILED = statement<MovedRow>(
  'jobs.retry_failed',
  `with gone as (
    delete from job_finished where id = any(${IDS}) and tenant_id = $2::uuid and status = 'FAILED' returning *
  ), back as (
    insert into job (id, tenant_id, type, status, urgency, attempt, attempt_base, lost, claim_epoch, policy_id, due,
      created_at, correlation_id, triggered_by, display_name, idempotency_key, payload, payload_version, batch_id)
    select gone.id, tenant_id, type, 'SCHEDULED', urgency, attempt, attempt, least(lost, greatest(max_lost, 1)),
      claim_epoch, policy_id, now(), gone.created_at, correlation_id, triggered_by, display_name, idempotency_key,
      payload, payload_version, batch_id
    from gone join job_policy policy on policy.id = gone.policy_id
    returning *
  ), reopened as (
    update job_slot set finished_at = null where job_id = any(array(select id from back)) and finished_at is not null
  ), ${logged('back', `'FAILED'`, 'status', 'due')}
  select id::text, due from back`,
)

/** Failed jobs ($1 ids, $2 tenant, locked before) were dealt with elsewhere; from now on they are history. */
export const HANDLE_FAILED = statement<MovedRow>(
  'jobs.handle_failed',
  `with handled as (
    update job_finished set status = 'CANCELLED', resolution = 'HANDLED', reason = $3, finished_at = clock_timestamp()
    where id = any(${IDS}) and tenant_id = $2::uuid and status = 'FAILED'
    returning *
  ), ${logged('handled', `'FAILED'`, 'status', 'null')}
  select id::text, null::timestamptz as due from handled`,
)

/**
 * Waiting jobs ($1 ids, $2 tenant, locked before) get another due time: now, never, or the one that they had when they
 * were held last. What is due already keeps its place: a later time would put it behind the others. $5 the act.
 *
 * Not `worker_id is null`, which says the same: where `job` was never analysed the planner then takes the index of all
 * that waits, and compares each with each of 500 ids (1 s instead of 10 ms among 20,000).
 */
export const MOVE_DUE = statement<MovedRow>(
  'jobs.move_due',
  `with moved as (
    update job set due = case $5
      when 'RUN_NOW' then least(due, now())
      when 'HOLD' then '${HELD_UNTIL}'
      else coalesce((
        select (act.before ->> 'due')::timestamptz from job_act act
        where act.job_id = job.id and act.act = 'HOLD' and act.refusal is null order by act.at desc, act.id desc limit 1
      ), now())
    end
    where id = any(${IDS}) and tenant_id = $2::uuid and status <> 'PROCESSING'
    returning *
  ), ${logged('moved', 'status', 'status', `nullif(due, '${HELD_UNTIL}')`)}
  select id::text, nullif(due, '${HELD_UNTIL}') as due from moved`,
)
