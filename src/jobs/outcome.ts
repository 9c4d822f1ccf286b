import type { Tx } from '../database/index.ts'
import type { FailureClass } from '../errors/index.ts'
import type { JobOutcome } from './definition.ts'
import { readPayload } from './payload.ts'
import type { AnyJobDefinition } from './registry.ts'
import type { SettledRow } from './sql/settle.ts'

/** Tells the domain, in the transaction that settled its jobs, how they ended. All of one tenant and type. */
export async function tellOutcomes(tx: Tx, definition: AnyJobDefinition, rows: readonly SettledRow[]): Promise<void> {
  if (definition.onOutcome === undefined || rows.length === 0) return
  await definition.onOutcome(
    tx,
    rows.map((row) => outcomeOf(row, definition)),
  )
}

function outcomeOf(row: SettledRow, definition: AnyJobDefinition): JobOutcome<unknown> {
  return {
    jobId: row.id,
    payload: payloadOf(row, definition),
    attempt: row.attempt,
    maxAttempts: row.maxAttempts,
    correlationId: row.correlationId,
    status: row.status,
    nextAttemptAt: row.due,
    failure:
      row.failureClass === null
        ? null
        : { class: row.failureClass as FailureClass, code: row.code ?? '', message: row.message ?? '' },
    reason: row.reason,
    actor: row.actor,
  }
}

function payloadOf(row: SettledRow, definition: AnyJobDefinition): unknown {
  try {
    return readPayload(definition, row.payload, row.payloadVersion)
  } catch {
    // A payload that is no longer of the declared shape is why the job failed; its domain still has to know.
    return row.payload
  }
}
