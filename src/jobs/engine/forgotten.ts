import { STILL_CLAIMED } from '../sql/claim-proof.ts'
import { SETTLE, type EndingRow } from '../sql/settle.ts'
import { NOT_BEGUN } from './ending.ts'
import type { EngineParts } from './parts.ts'

/**
 * Gives back what the database says this worker holds and the worker knows nothing of: the connection broke after
 * a claim was committed and before its answer arrived. With its worker alive, no rescue would ever come for it.
 */
export async function giveBackForgotten(
  parts: EngineParts,
  holds: (id: string, claimEpoch: number) => boolean,
): Promise<void> {
  const { database, workerId, logger } = parts
  const claimed = await database.run(STILL_CLAIMED, [workerId])
  const forgotten = claimed.filter(({ id, claimEpoch }) => !holds(id, claimEpoch))
  if (forgotten.length === 0) return
  const endings = forgotten.map(({ id, claimEpoch }): EndingRow => ({ ...NOT_BEGUN, id, claimEpoch, ranMs: 0 }))
  // What was ended since the look is not touched: its claim no longer stands.
  const rows = await database.run(SETTLE, [JSON.stringify(endings)])
  if (rows.length > 0)
    logger.warn({ jobs: rows.length }, 'Jobs whose claim was committed but never heard of went back, no attempt spent.')
}
