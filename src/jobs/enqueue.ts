import { type Queryable, timeOrderedId } from '../database/index.ts'
import { joinBatches } from './batches/join.ts'
import type { JobDefinition } from './definition.ts'
import { storableText } from './json.ts'
import { payloadToStore } from './payload.ts'
import { policyId, policyOf } from './policy.ts'
import { COLUMNS, ENQUEUE, ENQUEUE_KEYED, ENQUEUE_ONE, type KeyRow } from './sql/enqueue.ts'
import { toTenantColumn } from './tenant.ts'

export interface EnqueueRequest<Payload> {
  /** Chosen by the caller when it stores the id in its own row first; else made here. */
  readonly jobId?: string
  readonly tenantId: string | null
  readonly payload: Payload
  readonly correlationId: string
  /** Subject of the viewer, or `system`. */
  readonly triggeredBy: string
  /** Milliseconds from the database's now. Default 0. */
  readonly delayMs?: number
  readonly runAt?: Date
  /** Unique per tenant and type: a second enqueue with the same key returns the first job. */
  readonly idempotencyKey?: string
  /** Higher first, −32,000 to 32,000. Default 0. */
  readonly priority?: number
  /** The batch it joins, of the same tenant; refused when that was cancelled. */
  readonly batchId?: string
}

export interface EnqueuedJob {
  readonly jobId: string
  /** False when the idempotency key had been used: `jobId` is the earlier job. */
  readonly created: boolean
}

/**
 * Writes the job in the caller's transaction; it exists when, and only if, that commits.
 *
 * @throws PayloadError when the payload is not as declared, too large, or names a secret
 */
export async function enqueue<Payload>(
  tx: Queryable,
  definition: JobDefinition<Payload>,
  request: EnqueueRequest<Payload>,
): Promise<EnqueuedJob> {
  const [job] = await enqueueMany(tx, definition, [request])
  return job!
}

/**
 * Many jobs of one type in one statement (two when only some have an idempotency key); answers in order.
 *
 * @throws NotFoundError, ConflictError when a job's batch is not there, or was cancelled
 */
export async function enqueueMany<Payload>(
  tx: Queryable,
  definition: JobDefinition<Payload>,
  requests: readonly EnqueueRequest<Payload>[],
): Promise<EnqueuedJob[]> {
  const jobs = requests.map((request) => newJob(definition, request))
  const joining = jobs.flatMap(({ tenantId, batchId }) => (batchId === null ? [] : [{ tenantId, batchId }]))
  if (joining.length > 0) await joinBatches(tx, joining)

  const plain = jobs.filter((job) => job.idempotencyKey === null)
  if (plain.length > 0) await writePlain(tx, definition, plain)

  // The same key twice in one call is one job too, and one statement may not touch a key's row twice.
  const keyed = new Map<string, NewJob>()
  for (const job of jobs) if (job.idempotencyKey !== null && !keyed.has(keyOf(job))) keyed.set(keyOf(job), job)
  const owners = new Map<string, KeyRow>()
  if (keyed.size > 0)
    for (const owner of await tx.run(ENQUEUE_KEYED, valuesOf(definition, [...keyed.values()])))
      owners.set(scoped(owner.tenantId, owner.key), owner)

  return jobs.map((job) => {
    if (job.idempotencyKey === null) return { jobId: job.id, created: true }
    const owner = owners.get(keyOf(job))!
    return { jobId: owner.jobId, created: owner.created && keyed.get(keyOf(job)) === job }
  })
}

type NewJob = { readonly [Column in keyof typeof COLUMNS]: string | number | null } & {
  readonly id: string
  readonly tenantId: string
  readonly batchId: string | null
  readonly idempotencyKey: string | null
  /** JSON text. */
  readonly payload: string
}

function newJob<Payload>(definition: JobDefinition<Payload>, request: EnqueueRequest<Payload>): NewJob {
  const priority = request.priority ?? 0
  if (!Number.isInteger(priority) || Math.abs(priority) > HIGHEST_PRIORITY)
    throw new RangeError(`A job's priority is a whole number from −32,000 to 32,000, not ${priority}.`)
  return {
    id: request.jobId ?? timeOrderedId(),
    tenantId: toTenantColumn(request.tenantId),
    // `+ 0` because the negation of 0 is −0.
    urgency: -priority + 0,
    runAt: request.runAt?.toISOString() ?? null,
    delayMs: request.delayMs ?? 0,
    correlationId: storableText(request.correlationId),
    triggeredBy: storableText(request.triggeredBy),
    displayName: storableText(definition.displayName(request.payload).slice(0, LONGEST_NAME)),
    batchId: request.batchId ?? null,
    idempotencyKey: request.idempotencyKey === undefined ? null : storableText(request.idempotencyKey),
    payload: payloadToStore(definition, request.payload),
  }
}

async function writePlain(tx: Queryable, definition: AnyDefinition, jobs: readonly NewJob[]): Promise<void> {
  if (jobs.length === 1 && (await writtenAlone(tx, definition, jobs[0]!))) return
  await tx.run(ENQUEUE, valuesOf(definition, jobs))
}

/** False when nothing was written because the job's policy is new to this database. */
async function writtenAlone(tx: Queryable, definition: AnyDefinition, job: NewJob): Promise<boolean> {
  const rows = await tx.run(ENQUEUE_ONE, [
    job.id,
    job.tenantId,
    definition.type,
    job.urgency,
    job.runAt,
    job.delayMs,
    job.correlationId,
    job.triggeredBy,
    job.displayName,
    job.batchId,
    job.payload,
    definition.payloadVersion ?? 1,
    storedPolicy(definition).id,
  ])
  return rows.length > 0
}

/** Values of `ENQUEUE` and `ENQUEUE_KEYED`. */
function valuesOf(definition: AnyDefinition, jobs: readonly NewJob[]) {
  const shared: Record<string, unknown> = {}
  const each: string[] = []
  for (const column of Object.keys(COLUMNS) as (keyof typeof COLUMNS)[]) {
    const values = jobs.map((job) => job[column])
    if (values.every((value) => value === values[0])) shared[column] = values[0]
    else each.push(`"${column}":${JSON.stringify(values)}`)
  }
  // Payloads are JSON text already: spliced in instead of being parsed and written again.
  each.push(`"payload":[${jobs.map((job) => job.payload).join()}]`)
  const policy = storedPolicy(definition)
  return [
    `{${each.join()}}`,
    JSON.stringify(shared),
    definition.type,
    policy.id,
    policy.content,
    definition.payloadVersion ?? 1,
  ]
}

interface StoredPolicy {
  readonly id: string
  /** JSON text. */
  readonly content: string
}

/** A definition never changes, and hashing its policy takes longer than all else that is done for one job. */
const policies = new WeakMap<AnyDefinition, StoredPolicy>()

function storedPolicy(definition: AnyDefinition): StoredPolicy {
  let stored = policies.get(definition)
  if (stored === undefined) {
    const policy = policyOf(definition)
    stored = { id: policyId(policy), content: JSON.stringify(policy) }
    policies.set(definition, stored)
  }
  return stored
}

type AnyDefinition = Pick<
  JobDefinition<never>,
  'type' | 'class' | 'policy' | 'timeoutMs' | 'idempotency' | 'payloadVersion'
>

const keyOf = ({ tenantId, idempotencyKey }: NewJob): string => scoped(tenantId, idempotencyKey!)

const scoped = (tenantId: string, key: string): string => `${tenantId} ${key}`

const HIGHEST_PRIORITY = 32_000
const LONGEST_NAME = 200
