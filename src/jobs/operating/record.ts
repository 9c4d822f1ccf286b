import { v7 as uuidv7 } from 'uuid'
import type { Queryable } from '../../database/index.ts'
import { storableJson } from '../json.ts'
import { type NewAct, RECORD_ACTS } from '../sql/acts.ts'

/** Writes one row of the audit, in the transaction of what it is about. */
export async function recordAct(tx: Queryable, act: Omit<NewAct, 'id'>): Promise<{ actId: string }> {
  const id = uuidv7()
  await tx.run(RECORD_ACTS, [storableJson([{ ...act, id }])])
  return { actId: id }
}
