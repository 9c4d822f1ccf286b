import { statement, type Database } from '../../database/index.ts'
import { policyId, policyOf } from '../policy.ts'
import type { AnyJobDefinition, JobRegistry } from '../registry.ts'

/**
 * Writes down, when a worker starts, which job types it knows and as what: for operators, for the claim, which reads
 * pauses and limits there, and for whoever asks why a job waits. What an operator did (the pause) is not declared and
 * stays. A type that is gone from the releases keeps its row: its jobs may still be there. Of two releases the one that
 * started last counts, unless the other knows a newer payload.
 */
export async function declareTypes(database: Database, registry: JobRegistry, workerId: string): Promise<void> {
  const types = registry.types.map((type) => declared(registry.get(type)))
  await database.rawTransaction(async (tx) => {
    // A release that was here before waits for nobody, not even for one that hangs while it declares.
    if ((await tx.run(NEW_POLICIES, [JSON.stringify(types)])).length > 0) {
      // Versions are numbered by looking: whoever starts at the same time looks afterwards.
      await tx.run(ONE_AT_A_TIME, [])
      await tx.run(DECLARE_POLICIES, [JSON.stringify(types)])
    }
    await tx.run(DECLARE_TYPES, [JSON.stringify(types)])
  })
  // By itself: a thread that stood still with its worker's row locked would keep its process from renewing the leases
  // of all the others.
  await keepKnown(database, registry, workerId)
}

/**
 * Writes what the worker knows onto its row, if it does not stand there: at its start, and again when its lease had
 * lapsed for so long that the row was cleared away and made anew.
 */
export async function keepKnown(database: Database, registry: JobRegistry, workerId: string): Promise<void> {
  const versions = Object.fromEntries(registry.types.map((type) => [type, registry.get(type).payloadVersion ?? 1]))
  await database.run(KNOWS, [workerId, JSON.stringify(versions)])
}

function declared(definition: AnyJobDefinition) {
  const { type, policy: own, limits, dependency } = definition
  const policy = policyOf(definition)
  return {
    type,
    class: definition.class,
    // The time-out is part of a policy and every type has its own, so a class's name would stand for many.
    policyName: own?.name ?? type,
    policyId: policyId(policy),
    policy,
    payloadVersion: definition.payloadVersion ?? 1,
    idempotency: definition.idempotency ?? null,
    motivation: own?.motivation ?? null,
    // One that depends on the payload is no property of the type.
    dependency: typeof dependency === 'string' ? dependency : null,
    maxRunning: limits?.running ?? null,
    maxRunningPerTenant: limits?.runningPerTenant ?? null,
    rateJobs: limits?.ratePerTenant?.jobs ?? null,
    ratePerMs: limits?.ratePerTenant?.perMs ?? null,
  }
}

/** $1 the types as JSON. Answers with the names whose policy has no version yet. */
const NEW_POLICIES = statement<{ readonly name: string }>(
  'jobs.new_policies',
  `select "policyName" as name from jsonb_to_recordset($1::jsonb) as d("policyName" text, "policyId" bigint)
  where not exists (select from job_policy_version v where v.name = d."policyName" and v.policy_id = d."policyId")`,
)

const ONE_AT_A_TIME = statement<never>(
  'jobs.declare_one_at_a_time',
  'lock table job_policy_version in share row exclusive mode',
)

/** $1 the types as JSON. A policy that its name has had before keeps the version that it had then. */
const DECLARE_POLICIES = statement<never>(
  'jobs.declare_policies',
  `with given as (
    select distinct on ("policyName", "policyId") "policyName" as name, "policyId" as id, p.*
    from jsonb_to_recordset($1::jsonb) as d("policyName" text, "policyId" bigint, policy jsonb)
    cross join lateral jsonb_to_record(policy) as p("class" text, "maxAttempts" smallint, "maxLost" smallint,
      "delaysMs" integer[], jitter real, "timeoutMs" integer, "maxElapsedMs" bigint, rules jsonb)
    order by "policyName", "policyId"
  ), policy as (
    insert into job_policy (id, class, max_attempts, max_lost, delays_ms, jitter, timeout_ms, max_elapsed_ms, rules)
    select distinct on (id) id, "class", "maxAttempts", "maxLost", "delaysMs", jitter, "timeoutMs", "maxElapsedMs",
      coalesce(rules, '{}')
    from given order by id
    on conflict (id) do nothing
  ), unknown as (
    select name, id, row_number() over (partition by name order by id) as nth from given
    where not exists (select from job_policy_version v where v.name = given.name and v.policy_id = given.id)
  )
  insert into job_policy_version (name, version, policy_id)
  select name, nth + coalesce((select max(version) from job_policy_version v where v.name = unknown.name), 0), id
  from unknown`,
)

/**
 * $1 the types as JSON. In the order of names, lest two starts deadlock with whoever writes a type's events. What is
 * the same already is left out before the insert, since a conflict locks its row even when it changes nothing.
 */
const DECLARE_TYPES = statement<never>(
  'jobs.declare_types',
  `insert into job_type as t (type, class, policy_name, policy_id, payload_version, idempotency, motivation, dependency,
    max_running, max_running_per_tenant, rate_jobs, rate_per_ms)
  select type, "class", "policyName", "policyId", "payloadVersion", idempotency, motivation, dependency, "maxRunning",
    "maxRunningPerTenant", "rateJobs", "ratePerMs"
  from jsonb_to_recordset($1::jsonb) as d(type text, "class" text, "policyName" text, "policyId" bigint,
    "payloadVersion" smallint, idempotency text, motivation text, dependency text, "maxRunning" integer,
    "maxRunningPerTenant" integer, "rateJobs" integer, "ratePerMs" integer)
  where not exists (select from job_type known where known.type = d.type and (known.payload_version > d."payloadVersion"
    or (known.class, known.policy_name, known.policy_id, known.payload_version, known.idempotency, known.motivation,
      known.dependency, known.max_running, known.max_running_per_tenant, known.rate_jobs, known.rate_per_ms)
    is not distinct from (d."class", d."policyName", d."policyId", d."payloadVersion", d.idempotency, d.motivation,
      d.dependency, d."maxRunning", d."maxRunningPerTenant", d."rateJobs", d."ratePerMs")))
  order by type
  on conflict (type) do update set
    class = excluded.class, policy_name = excluded.policy_name, policy_id = excluded.policy_id,
    payload_version = excluded.payload_version, idempotency = excluded.idempotency, motivation = excluded.motivation,
    dependency = excluded.dependency, max_running = excluded.max_running,
    max_running_per_tenant = excluded.max_running_per_tenant, rate_jobs = excluded.rate_jobs,
    rate_per_ms = excluded.rate_per_ms, declared_at = now()
  where excluded.payload_version >= t.payload_version
    and (t.class, t.policy_name, t.policy_id, t.payload_version, t.idempotency, t.motivation, t.dependency,
      t.max_running, t.max_running_per_tenant, t.rate_jobs, t.rate_per_ms)
    is distinct from (excluded.class, excluded.policy_name, excluded.policy_id, excluded.payload_version,
      excluded.idempotency, excluded.motivation, excluded.dependency, excluded.max_running,
      excluded.max_running_per_tenant, excluded.rate_jobs, excluded.rate_per_ms)`,
)

/** $1 the worker, $2 the newest version of each type's payload that it knows. */
const KNOWS = statement<never>(
  'jobs.worker_knows',
  `update job_worker set types = $2::jsonb where id = $1::uuid and types <> $2::jsonb`,
)
