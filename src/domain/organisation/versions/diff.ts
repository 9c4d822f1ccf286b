import { NotFoundError } from '../../../errors/index.ts'
import type { Call } from '../../call.ts'
import { canonicalId } from '../ids.ts'
import { type NetChange, netChanges } from '../model/net-change.ts'
import { modelsOf } from './read.ts'

/**
 * What differs between two versions of the tenant, whichever way round.
 * @throws NotFoundError
 */
export async function diffVersions(call: Call, fromId: string, toId: string): Promise<NetChange[]> {
  const models = await modelsOf(call, [fromId, toId])
  const [from, to] = [fromId, toId].map((id) => models.get(canonicalId(id) ?? ''))
  if (from === undefined) throw new NotFoundError('The version to compare from', { path: ['from'] })
  if (to === undefined) throw new NotFoundError('The version to compare to', { path: ['to'] })
  return netChanges(from, to)
}
