import { mustBeAllowed } from '../../../viewer/index.ts'
import type { Call } from '../../call.ts'
import { canonicalId } from '../ids.ts'
import { readerOf } from '../reader.ts'
import { BY_IDS, type Resolution } from './resolution.ts'

/** The resolution; null when there is none for this viewer. */
export async function resolutionById(call: Call, id: string): Promise<Resolution | null> {
  mustBeAllowed(call.viewer, 'orgmodel.read')
  const known = canonicalId(id)
  const [row] = known === null ? [] : await readerOf(call).query(BY_IDS, [JSON.stringify([known])])
  return row ?? null
}
