import { v7 as uuidv7 } from 'uuid'
import type { Queryable } from '../../database/index.ts'
import { ConflictError } from '../../errors/index.ts'
import { storableJson } from '../json.ts'
import { type NewAct, RECORD_ACTS } from '../sql/acts.ts'
import { JobActRefusedError } from './rules.ts'

/** Writes one row of the audit, in the transaction of what it is about. */
export async function recordAct(tx: Queryable, act: Omit<NewAct, 'id'>): Promise<{ actId: string }> {
  const id = uuidv7()
  await tx.run(RECORD_ACTS, [storableJson([{ ...act, id }])])
  return { actId: id }
}

/**
 * Does `work` in transactions of its own. When it is refused, that stands in the audit too, in another transaction:
 * whoever looks into an incident also asks what was tried, and by whom.
 */
export async function recordingRefusal<T>(
  on: Queryable,
  tried: Omit<NewAct, 'id'>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error
    const before = error instanceof JobActRefusedError ? { before: { status: error.status } } : {}
    await recordAct(on, { ...tried, ...before, refusal: error.code })
    throw error
  }
}
