import { type Statement, statement } from '../../database/index.ts'

/** What a job brings along, with the type as PostgreSQL knows it. Those that are `optional` may be null in some jobs. */
export const COLUMNS = {
  id: { type: 'uuid', optional: false },
  tenantId: { type: 'uuid', optional: false },
  urgency: { type: 'smallint', optional: false },
  policyId: { type: 'bigint', optional: false },
  runAt: { type: 'timestamptz', optional: true },
  delayMs: { type: 'float8', optional: false },
  correlationId: { type: 'text', optional: false },
  triggeredBy: { type: 'text', optional: false },
  displayName: { type: 'text', optional: false },
  batchId: { type: 'uuid', optional: true },
  // Null in all jobs of a statement, which then share it, or in none.
  idempotencyKey: { type: 'text', optional: false },
  payload: { type: 'jsonb', optional: false },
} as const

/** How a list says that one of its values is null. */
export const NONE = 'null'

export type Column = keyof typeof COLUMNS

export const ALL_COLUMNS = Object.keys(COLUMNS) as readonly Column[]

/**
 * $1 type, $2 the jobs' policies as JSON of `[{ id, content }]`, $3 version of the payload; from $5 on the columns: those
 * in which the jobs differ each as one text whose values $4 separates, the others as the one value.
 *
 * Columns instead of rows, and texts instead of JSON: what all jobs share is sent and read once, and nobody quotes or
 * reads the others' elements. 1,000 jobs through one connection take 8.0 ms; an insert of constant rows takes 7.7, which
 * is the table with its indexes. Measured as well: columns as JSON 10.0, arrays in `unnest` 8.3, rows as JSON 13.5, one
 * statement for every set of columns 9.6.
 *
 * A policy is inserted beside the jobs if its content was never seen: one index probe, and no process has to be started
 * before another may enqueue.
 */
function newJobs(differing: readonly Column[]): string {
  const parameters = ALL_COLUMNS.map((name, index) => ({ name, ...COLUMNS[name], value: `$${index + 5}` }))
  const lists = parameters.filter(({ name }) => differing.includes(name))
  const tableOf = ({ value, optional }: (typeof parameters)[number]) =>
    `string_to_table(${value}::text, $4::text${optional ? `, '${NONE}'` : ''})`
  return `policy as (
    insert into job_policy (id, class, max_attempts, max_lost, delays_ms, jitter, timeout_ms, max_elapsed_ms, rules)
    select id, "class", "maxAttempts", "maxLost", "delaysMs", jitter, "timeoutMs", "maxElapsedMs", coalesce(rules, '{}')
    from jsonb_to_recordset($2::jsonb) as given(id bigint, content jsonb)
    cross join lateral jsonb_to_record(content) as p("class" text, "maxAttempts" smallint, "maxLost" smallint,
      "delaysMs" integer[], jitter real, "timeoutMs" integer, "maxElapsedMs" bigint, rules jsonb)
    order by id on conflict (id) do nothing returning id
  ), new as (
    select ${parameters.map(({ name, type, value }) => `${differing.includes(name) ? `each."${name}"` : value}::${type} as "${name}"`).join()}
    from rows from (${lists.map(tableOf).join()}) as each(${lists.map(({ name }) => `"${name}"`).join()})
  )`
}

/** Down to whole milliseconds: the column would round up, and a claim that comes at once would find nothing due. */
const dueOf = (runAt: string, delayMs: string): string =>
  `date_trunc('milliseconds', coalesce(${runAt}, now()) + ${delayMs} * interval '1 millisecond')`

const INSERT = `insert into job (id, tenant_id, type, urgency, policy_id, due, correlation_id, triggered_by,
    display_name, batch_id, idempotency_key, payload, payload_version)
  select id, "tenantId", $1::text, urgency, "policyId", ${dueOf('"runAt"', '"delayMs"')},
    "correlationId", "triggeredBy", "displayName", "batchId", "idempotencyKey", payload, $3::smallint
  from new`

/** Jobs of one type without idempotency keys, by the columns in which they differ: a handful of sets in practice. */
export function enqueueDiffering(differing: readonly Column[]): Statement<never> {
  // PostgreSQL cuts names at 63 characters.
  const set = differing.reduce((bits, column) => bits | (1 << ALL_COLUMNS.indexOf(column)), 0)
  const name = `jobs.enqueue_${set}`
  let known = byColumns.get(name)
  if (known === undefined) byColumns.set(name, (known = statement(name, `with ${newJobs(differing)} ${INSERT}`)))
  return known
}

const byColumns = new Map<string, Statement<never>>()

/**
 * One job without an idempotency key, when its policy has been seen before; else nothing is written, and the answer
 * has no row. As near to a plain insert as it gets: 1.1 times its CPU on server and client together, where the
 * statement for many takes 1.6 times. With the policy in an `exists` it was 1.2 times.
 */
export const ENQUEUE_ONE = statement<{ readonly written: true }>(
  'jobs.enqueue_one',
  `insert into job (id, tenant_id, type, urgency, policy_id, due, correlation_id, triggered_by, display_name, batch_id,
    payload, payload_version)
  select $1::uuid, $2::uuid, $3::text, $4::smallint, id,
    ${dueOf('$5::timestamptz', '$6::float8')}, $7::text, $8::text, $9::text, $10::uuid,
    $11::jsonb, $12::smallint
  from job_policy where id = $13::bigint
  returning true as written`,
)

export interface KeyRow {
  readonly tenantId: string
  readonly key: string
  readonly jobId: string
  /** False when the key had been used before. */
  readonly created: boolean
}

/**
 * Jobs of one type that all have an idempotency key, every column a list; answers with the job that each key stands for.
 *
 * Keys have a table of their own because they outlive the job. `do update` instead of `do nothing`: the row that
 * a concurrent transaction has just committed is not in this statement's snapshot, so `do nothing` would give
 * back neither a new job nor the earlier one (pain 26); a row that was inserted has no xmax. Policies are written before
 * keys, and both in order, so that two statements with the same ones wait for each other instead of deadlocking.
 */
export const ENQUEUE_KEYED = statement<KeyRow>(
  'jobs.enqueue_keyed',
  `with ${newJobs(ALL_COLUMNS)}, key as (
    insert into job_key (tenant_id, type, key, job_id)
    select "tenantId", $1::text, "idempotencyKey", id from new where (select count(*) from policy) >= 0
    order by "tenantId", "idempotencyKey"
    on conflict (tenant_id, type, key) do update set job_id = job_key.job_id
    returning tenant_id, key, job_id, xmax = 0 as created
  ), written as (
    ${INSERT} join key on key.job_id = new.id and key.created
  )
  select tenant_id::text as "tenantId", key, job_id::text as "jobId", created from key`,
)
