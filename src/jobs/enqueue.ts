import { v7 as uuidv7 } from 'uuid'
import type { Queryable } from '../database/index.ts'
import type { JobDefinition } from './definition.ts'
import { storableJson } from './json.ts'
import { payloadToStore } from './payload.ts'
import { policyId, policyOf } from './policy.ts'
import { ENQUEUE, ENQUEUE_KEYED, type KeyRow } from './sql/enqueue.ts'
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

/** Many jobs of one type in one statement (two when only some have an idempotency key); answers in order. */
export async function enqueueMany<Payload>(
  tx: Queryable,
  definition: JobDefinition<Payload>,
  requests: readonly EnqueueRequest<Payload>[],
): Promise<EnqueuedJob[]> {
  const policy = policyOf(definition)
  const shared = [definition.type, policyId(policy), JSON.stringify(policy)]
  const write = (rows: readonly NewJob[]) => [`[${rows.map((row) => row.json).join()}]`, ...shared]

  const rows = requests.map((request) => newJob(definition, request))
  const plain = rows.filter((row) => row.key === null)
  if (plain.length > 0) await tx.run(ENQUEUE, write(plain))

  // The same key twice in one call is one job too, and one statement may not touch a key's row twice.
  const keyed = new Map<string, NewJob>()
  for (const row of rows) if (row.key !== null && !keyed.has(row.key)) keyed.set(row.key, row)
  const owners = new Map<string, KeyRow>()
  if (keyed.size > 0)
    for (const owner of await tx.run(ENQUEUE_KEYED, write([...keyed.values()])))
      owners.set(scoped(owner.tenantId, owner.key), owner)

  return rows.map((row) => {
    if (row.key === null) return { jobId: row.id, created: true }
    const owner = owners.get(row.key)!
    return { jobId: owner.jobId, created: owner.created && keyed.get(row.key) === row }
  })
}

interface NewJob {
  readonly id: string
  /** Tenant and idempotency key. */
  readonly key: string | null
  readonly json: string
}

function newJob<Payload>(definition: JobDefinition<Payload>, request: EnqueueRequest<Payload>): NewJob {
  const id = request.jobId ?? uuidv7()
  const tenantId = toTenantColumn(request.tenantId)
  const priority = request.priority ?? 0
  if (!Number.isInteger(priority) || Math.abs(priority) > HIGHEST_PRIORITY)
    throw new RangeError(`A job's priority is a whole number from −32,000 to 32,000, not ${priority}.`)
  const head = storableJson({
    id,
    tenantId,
    // `+ 0` because the negation of 0 is −0.
    urgency: -priority + 0,
    runAt: request.runAt ?? null,
    delayMs: request.delayMs ?? 0,
    correlationId: request.correlationId,
    triggeredBy: request.triggeredBy,
    displayName: definition.displayName(request.payload).slice(0, LONGEST_NAME),
    idempotencyKey: request.idempotencyKey ?? null,
  })
  // The payload is text already: spliced in instead of being parsed and written again.
  const json = `${head.slice(0, -1)},"payload":${payloadToStore(definition, request.payload)}}`
  return { id, key: request.idempotencyKey === undefined ? null : scoped(tenantId, request.idempotencyKey), json }
}

const scoped = (tenantId: string, key: string): string => `${tenantId} ${key}`

const HIGHEST_PRIORITY = 32_000
const LONGEST_NAME = 200
