import { v7 as uuidv7 } from 'uuid'
import type { Tx } from '../../database/index.ts'
import { lockBatches } from '../batches/join.ts'
import { storableJson } from '../json.ts'
import { tellOutcomes } from '../outcome.ts'
import { PayloadError, readPayload } from '../payload.ts'
import { safeMessage } from '../redact.ts'
import type { AnyJobDefinition } from '../registry.ts'
import { type NewAct, RECORD_ACTS } from '../sql/acts.ts'
import { CANCEL } from '../sql/cancel.ts'
import { type ActableRow, HANDLE_FAILED, LOCK_JOBS, MOVE_DUE, RETRY_FAILED } from '../sql/operate.ts'
import type { SettledRow } from '../sql/settle.ts'
import type { By } from './by.ts'
import { ACT_RULES, type JobAct, JobActRefusedError, obstacle } from './rules.ts'

export interface Performed {
  /** The audit's row of each job that was acted on. */
  readonly acted: ReadonlyMap<string, string>
  readonly refused: ReadonlyMap<string, JobActRefusedError>
}

/**
 * One act on jobs of one type and of the transaction's tenant: locked in id order, checked, written, audited, and their
 * domain told, all or nothing. Jobs in neither answer are not where the act looks for them any more, or, in a bulk
 * act, locked by somebody.
 */
export async function perform(
  tx: Tx,
  definition: AnyJobDefinition,
  act: JobAct,
  jobIds: readonly string[],
  by: By,
  { partOf }: { readonly partOf: string | null },
): Promise<Performed> {
  const { table, told } = ACT_RULES[act]
  const lock = LOCK_JOBS[table][partOf === null ? 'waiting' : 'skipping']
  const refused = new Map<string, JobActRefusedError>()
  const able: ActableRow[] = []
  const rows = await tx.run(lock, [JSON.stringify(jobIds), tx.tenantId, definition.type])
  const stopped = act === 'RETRY' ? await cancelledBatches(tx, rows) : NONE
  for (const row of rows) {
    const refusal = obstacle(act, row, stopped) ?? (act === 'RETRY' ? await noLongerValid(tx, definition, row) : null)
    if (refusal === null) able.push(row)
    else refused.set(row.id, refusal)
  }
  if (able.length === 0) return { acted: new Map(), refused }

  const afters = await write(tx, act, able, by)
  const acted = new Map<string, string>()
  const acts = able.map((row): NewAct => {
    const id = uuidv7()
    acted.set(row.id, id)
    return {
      ...by,
      id,
      act,
      jobId: row.id,
      type: definition.type,
      batchId: row.batchId,
      tenantId: tx.tenantId,
      partOf,
      before: snapshotOf(row),
      after: snapshotOf(afters.get(row.id)!),
    }
  })
  await tx.run(RECORD_ACTS, [storableJson(acts)])
  if (told) await tellOutcomes(tx, definition, outcomes(tx, definition, able, afters, by))
  return { acted, refused }
}

const NONE: ReadonlySet<string> = new Set()

/** Locks the batches too: one that is being cancelled would not see a job that comes back meanwhile. */
async function cancelledBatches(tx: Tx, rows: readonly ActableRow[]): Promise<ReadonlySet<string>> {
  const batches = await lockBatches(
    tx,
    rows.flatMap(({ batchId }) => (batchId === null ? [] : [batchId])),
  )
  return new Set([...batches.values()].filter(({ cancelled }) => cancelled).map(({ id }) => id))
}

/** Asks the owning domain in this very transaction: it may have moved on since the job failed (J31, J72). */
async function noLongerValid(
  tx: Tx,
  definition: AnyJobDefinition,
  row: ActableRow,
): Promise<JobActRefusedError | null> {
  if (definition.stillValid === undefined) return null
  let payload: unknown
  try {
    payload = readPayload(definition, row.payload, row.payloadVersion)
  } catch (error) {
    if (error instanceof PayloadError) return new JobActRefusedError(error.message, 'job.no_longer_valid', row.status)
    throw error
  }
  const reason = await definition.stillValid(tx, payload)
  return reason === null ? null : new JobActRefusedError(safeMessage(reason), 'job.no_longer_valid', row.status)
}

type After = Pick<ActableRow, 'status' | 'attempt' | 'attemptBase' | 'lost' | 'due' | 'held' | 'cancelRequested'>

async function write(tx: Tx, act: JobAct, rows: readonly ActableRow[], by: By): Promise<Map<string, After>> {
  const values = [JSON.stringify(rows.map(({ id }) => id)), tx.tenantId, by.reason, by.actor]
  if (act === 'CANCEL') {
    await tx.run(CANCEL, values)
    return new Map(
      rows.map((row) => [
        row.id,
        row.status === 'PROCESSING' ? { ...row, cancelRequested: true } : { ...row, status: 'CANCELLED', due: null },
      ]),
    )
  }
  const moved =
    act === 'RETRY'
      ? await tx.run(RETRY_FAILED, values)
      : act === 'HANDLE'
        ? await tx.run(HANDLE_FAILED, values)
        : await tx.run(MOVE_DUE, [...values, act])
  const dues = new Map(moved.map(({ id, due }) => [id, due]))
  return new Map(
    rows.map((row) => {
      const due = dues.get(row.id) ?? null
      if (act === 'RETRY') return [row.id, { ...row, status: 'SCHEDULED', attemptBase: row.attempt, due }]
      if (act === 'HANDLE') return [row.id, { ...row, status: 'CANCELLED' }]
      return [row.id, { ...row, due, held: act === 'HOLD' }]
    }),
  )
}

const snapshotOf = ({ status, attempt, attemptBase, lost, due, held, cancelRequested }: After) => ({
  status,
  attempt,
  attemptBase,
  lost,
  due,
  held,
  cancelRequested,
})

/** A running job is told of by whoever ends it. */
function outcomes(
  tx: Tx,
  definition: AnyJobDefinition,
  rows: readonly ActableRow[],
  afters: ReadonlyMap<string, After>,
  by: By,
): SettledRow[] {
  return rows
    .filter((row) => row.status !== 'PROCESSING')
    .map((row) => {
      const { status, due, attemptBase } = afters.get(row.id)!
      return {
        ...row,
        maxAttempts: attemptBase + row.maxAttempts,
        tenantId: tx.tenantId,
        type: definition.type,
        status: status as SettledRow['status'],
        due,
        failureClass: null,
        code: null,
        message: null,
        reason: by.reason,
        actor: by.actor,
      }
    })
}
