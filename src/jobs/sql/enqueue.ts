import { statement } from '../../database/index.ts'

// The policy is inserted beside the jobs if its content was never seen: one index probe, and no process has to
// be started before another may enqueue.
const NEW_JOBS = `policy as (
    insert into job_policy (id, class, max_attempts, max_lost, delays_ms, jitter, timeout_ms)
    select $3::bigint, "class", "maxAttempts", "maxLost", "delaysMs", jitter, "timeoutMs"
    from jsonb_to_record($4::jsonb) as p("class" text, "maxAttempts" smallint, "maxLost" smallint,
      "delaysMs" integer[], jitter real, "timeoutMs" integer)
    on conflict (id) do nothing
  ), new as (
    select * from jsonb_to_recordset($1::jsonb) as j(
      id uuid, "tenantId" uuid, urgency smallint, "runAt" timestamptz, "delayMs" float8, "correlationId" text,
      "triggeredBy" text, "displayName" text, "idempotencyKey" text, payload jsonb)
  )`

const INSERT = `insert into job (id, tenant_id, type, urgency, policy_id, due, correlation_id, triggered_by,
    display_name, idempotency_key, payload)
  select id, "tenantId", $2, urgency, $3::bigint, coalesce("runAt", now()) + "delayMs" * interval '1 millisecond',
    "correlationId", "triggeredBy", "displayName", "idempotencyKey", payload
  from new`

/** Jobs of one type without idempotency keys: as near to a plain insert as it gets. */
export const ENQUEUE = statement<never>('jobs.enqueue', `with ${NEW_JOBS} ${INSERT}`)

export interface KeyRow {
  readonly tenantId: string
  readonly key: string
  readonly jobId: string
  /** False when the key had been used before. */
  readonly created: boolean
}

/**
 * Jobs of one type that all have an idempotency key; answers with the job that each key stands for.
 *
 * Keys have a table of their own because they outlive the job. `do update` instead of `do nothing`: the row that
 * a concurrent transaction has just committed is not in this statement's snapshot, so `do nothing` would give
 * back neither a new job nor the earlier one (pain 26); a row that was inserted has no xmax. Keys are written in order, so that two statements with
 * the same keys wait for each other instead of deadlocking.
 */
export const ENQUEUE_KEYED = statement<KeyRow>(
  'jobs.enqueue_keyed',
  `with ${NEW_JOBS}, key as (
    insert into job_key (tenant_id, type, key, job_id)
    select "tenantId", $2, "idempotencyKey", id from new order by "tenantId", "idempotencyKey"
    on conflict (tenant_id, type, key) do update set job_id = job_key.job_id
    returning tenant_id, key, job_id, xmax = 0 as created
  ), written as (
    ${INSERT} join key on key.job_id = new.id and key.created
  )
  select tenant_id::text as "tenantId", key, job_id::text as "jobId", created from key`,
)
