import type { TenantPrisma } from '../../../database/index.ts'
import { mustBeAllowed } from '../../../viewer/index.ts'
import type { Call } from '../../call.ts'
import { canonicalId, canonicalIds } from '../ids.ts'
import { loadModels } from '../model/load.ts'
import type { ModelSnapshot } from '../model/model.ts'
import { readerOf } from '../reader.ts'
import { type OrgModelVersion, versionOf } from './version.ts'

/** The version that counts. A tenant has one from its first moment. */
export async function activeVersion(call: Call): Promise<OrgModelVersion> {
  const row = await (await versions(call)).findFirstOrThrow({ where: { status: 'ACTIVE' } })
  return versionOf(row)
}

export async function versionById(call: Call, id: string): Promise<OrgModelVersion | null> {
  return (await versionsByIds(call, [id])).get(canonicalId(id) ?? id) ?? null
}

/** Those of the versions that exist, by id. */
async function versionsByIds(call: Call, ids: readonly string[]): Promise<ReadonlyMap<string, OrgModelVersion>> {
  const rows = await (await versions(call)).findMany({ where: { id: { in: canonicalIds(ids) } } })
  return new Map(rows.map((row) => [row.id, versionOf(row)]))
}

/** The content of a version; null when there is no such version. */
export async function modelOf(call: Call, versionId: string): Promise<ModelSnapshot | null> {
  return (await modelsOf(call, [versionId])).get(canonicalId(versionId) ?? versionId) ?? null
}

/** The content of those of the versions that exist, by version id. */
export async function modelsOf(call: Call, versionIds: readonly string[]): Promise<ReadonlyMap<string, ModelSnapshot>> {
  const known = await versionsByIds(call, versionIds)
  return loadModels(readerOf(call), [...known.keys()])
}

async function versions(call: Call): Promise<TenantPrisma['orgModelVersion']> {
  mustBeAllowed(call.viewer, 'orgmodel.read')
  return (await call.database.forTenant(call.viewer.tenantId)).orgModelVersion
}
