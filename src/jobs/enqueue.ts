import { type Queryable, timeOrderedId } from '../database/index.ts'
import { withoutSecrets } from '../errors/index.ts'
import { joinBatches } from './batches/join.ts'
import type { JobDefinition, JobPolicy } from './definition.ts'
import { storableText } from './json.ts'
import { payloadToStore } from './payload.ts'
import {
  ALL_COLUMNS,
  type Column,
  ENQUEUE_KEYED,
  ENQUEUE_ONE,
  enqueueDiffering,
  type KeyRow,
  NONE,
} from './sql/enqueue.ts'
import { type StoredPolicy, storedPolicy } from './stored-policy.ts'
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
  /** What this job has otherwise than its type, within the type's ceiling. */
  readonly policy?: JobPolicy
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
 * @throws PolicyRefusedError when its policy is not within the type's ceiling
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
 * @throws PayloadError, PolicyRefusedError before anything is written
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
    for (const owner of await tx.run(ENQUEUE_KEYED, valuesOf(definition, [...keyed.values()], ALL_COLUMNS)))
      owners.set(scoped(owner.tenantId, owner.key), owner)

  return jobs.map((job) => {
    if (job.idempotencyKey === null) return { jobId: job.id, created: true }
    const owner = owners.get(keyOf(job))!
    return { jobId: owner.jobId, created: owner.created && keyed.get(keyOf(job)) === job }
  })
}

type NewJob = { readonly [Name in Column]: string | number | null } & {
  readonly id: string
  readonly tenantId: string
  readonly correlationId: string
  readonly triggeredBy: string
  readonly displayName: string
  readonly batchId: string | null
  readonly idempotencyKey: string | null
  /** JSON text. */
  readonly payload: string
  readonly policy: StoredPolicy
}

function newJob<Payload>(definition: JobDefinition<Payload>, request: EnqueueRequest<Payload>): NewJob {
  const priority = request.priority ?? 0
  if (!Number.isInteger(priority) || Math.abs(priority) > HIGHEST_PRIORITY)
    throw new RangeError(`A job's priority is a whole number from −32,000 to 32,000, not ${priority}.`)
  const policy = storedPolicy(definition, request.policy)
  return {
    id: request.jobId ?? timeOrderedId(),
    tenantId: toTenantColumn(request.tenantId),
    // `+ 0` because the negation of 0 is −0.
    urgency: -priority + 0,
    policyId: policy.id,
    runAt: request.runAt?.toISOString() ?? null,
    delayMs: request.delayMs ?? 0,
    correlationId: storableText(request.correlationId),
    triggeredBy: storableText(request.triggeredBy),
    displayName: storableText(withoutSecrets(definition.displayName(request.payload)).slice(0, LONGEST_NAME)),
    batchId: request.batchId ?? null,
    idempotencyKey: request.idempotencyKey === undefined ? null : storableText(request.idempotencyKey),
    payload: payloadToStore(definition, request.payload),
    policy,
  }
}

async function writePlain(tx: Queryable, definition: AnyDefinition, jobs: readonly NewJob[]): Promise<void> {
  if (jobs.length === 1 && (await writtenAlone(tx, definition, jobs[0]!))) return
  const differing = differingIn(jobs)
  await tx.run(enqueueDiffering(differing), valuesOf(definition, jobs, differing))
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
    job.policyId,
  ])
  return rows.length > 0
}

/** The columns in which jobs differ. A payload counts as different from every other. */
const differingIn = (jobs: readonly NewJob[]): Column[] =>
  ALL_COLUMNS.filter((column) => column === 'payload' || !jobs.every((job) => job[column] === jobs[0]![column]))

/** Values of a statement of sql/enqueue.ts that reads those columns as lists. */
function valuesOf(definition: AnyDefinition, jobs: readonly NewJob[], differing: readonly Column[]) {
  const separator = separatorOf(jobs)
  const policies = differing.includes('policyId')
    ? new Set(jobs.map(({ policy }) => policy.row))
    : [jobs[0]!.policy.row]
  return [
    definition.type,
    `[${[...policies].join()}]`,
    definition.payloadVersion ?? 1,
    separator,
    ...ALL_COLUMNS.map((column) =>
      differing.includes(column) ? jobs.map((job) => job[column] ?? NONE).join(separator) : jobs[0]![column],
    ),
  ]
}

/** What none of the texts holds: the control character for this, unless somebody uses it. JSON text never does. */
function separatorOf(jobs: readonly NewJob[]): string {
  let separator = UNIT_SEPARATOR
  const free = ({ correlationId, triggeredBy, displayName, idempotencyKey }: NewJob) =>
    !correlationId.includes(separator) &&
    !triggeredBy.includes(separator) &&
    !displayName.includes(separator) &&
    idempotencyKey?.includes(separator) !== true
  while (!jobs.every(free)) separator += `${separator.length}${UNIT_SEPARATOR}`
  return separator
}

const UNIT_SEPARATOR = '\u001f'

type AnyDefinition = Pick<
  JobDefinition<never>,
  'type' | 'class' | 'policy' | 'timeoutMs' | 'idempotency' | 'payloadVersion'
>

const keyOf = ({ tenantId, idempotencyKey }: NewJob): string => scoped(tenantId, idempotencyKey!)

const scoped = (tenantId: string, key: string): string => `${tenantId} ${key}`

const HIGHEST_PRIORITY = 32_000
const LONGEST_NAME = 200
