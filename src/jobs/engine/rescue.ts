import { type BatchResult, batchResult } from '../batch-result.ts'
import { tellOutcomes } from '../outcome.ts'
import type { SettledRow } from '../sql/settle.ts'
import { RESCUE } from '../sql/settle.ts'
import { FIND_LOST, FORGET_DEAD_WORKERS, type LostRow } from '../sql/worker.ts'
import { jobTransaction } from './claim-transaction.ts'
import type { EngineParts } from './parts.ts'

/** Most jobs per round; the next round takes the rest. */
const MOST = 500
const NIL = '00000000-0000-0000-0000-000000000000'

/**
 * Ends the attempts of dead workers: each counts as lost and follows the job's own policy. Only types known here,
 * since the owning domain is told in the same transaction; a type that nobody knows waits and is reported.
 */
export async function rescueLostJobs(parts: EngineParts): Promise<BatchResult> {
  const { database, registry } = parts
  let [found, processed, failed] = [0, 0, 0]
  // Past those whose domain refuses: however many, they keep no other job lost. The next slot tries them again.
  for (let after = NIL; ; ) {
    const lost = await database.run(FIND_LOST, [registry.types, MOST, after])
    found += lost.length
    for (const group of grouped(lost)) {
      const ended = await rescueGroup(group, parts)
      processed += ended.rescued
      failed += ended.refused
    }
    if (lost.length < MOST) break
    after = lost.at(-1)!.id
  }
  await database.run(FORGET_DEAD_WORKERS, [])
  // Skipped: ended, or rescued by somebody else, between the look and the lock.
  return batchResult({ found, processed, skipped: found - processed - failed, failed })
}

interface Ended {
  readonly rescued: number
  /** Their domain could not be told. */
  readonly refused: number
}

async function rescueGroup(lost: readonly LostRow[], parts: EngineParts): Promise<Ended> {
  const { type, tenantId } = lost[0]!
  const { database, registry, transactions, logger } = parts
  const definition = registry.get(type)
  const ids = JSON.stringify(lost.map((job) => job.id))
  try {
    const rows: SettledRow[] =
      definition.onOutcome === undefined
        ? await database.run(RESCUE, [ids])
        : await transactions.with(() =>
            jobTransaction(database, tenantId, async (tx) => {
              const settled = await tx.run(RESCUE, [ids])
              await tellOutcomes(tx, definition, settled)
              return settled
            }),
          )
    for (const row of rows) {
      const { id: jobId, status, attempt, correlationId } = row
      logger.warn({ jobId, type, attempt, status, correlationId }, 'A job was taken from a worker that had died.')
      parts.signal?.({ kind: 'RESCUED', jobId, status })
    }
    if (rows.length > 0) parts.onCommitted()
    return { rescued: rows.length, refused: 0 }
  } catch (error) {
    if (lost.length > 1) {
      const alone: Ended[] = []
      for (const job of lost) alone.push(await rescueGroup([job], parts))
      return {
        rescued: alone.reduce((sum, { rescued }) => sum + rescued, 0),
        refused: alone.reduce((sum, { refused }) => sum + refused, 0),
      }
    }
    logger.error(
      { err: error, type, jobId: lost[0]!.id },
      'A lost job could not be ended; the next rescue tries again.',
    )
    return { rescued: 0, refused: 1 }
  }
}

function grouped(rows: readonly LostRow[]): LostRow[][] {
  const groups = new Map<string, LostRow[]>()
  for (const row of rows) {
    const key = `${row.tenantId} ${row.type}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [row])
    else group.push(row)
  }
  return [...groups.values()]
}
