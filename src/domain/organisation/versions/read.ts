import type { TenantPrisma } from '../../../database/index.ts'
import { mustBeAllowed } from '../../../viewer/index.ts'
import type { Call } from '../../call.ts'
import { type Page, pageOf, type PageRequest, rowsToRead } from '../../page.ts'
import { canonicalId, canonicalIds } from '../ids.ts'
import type { VersionStatus } from '../lifecycles.ts'
import { loadModels } from '../model/load.ts'
import type { ModelSnapshot } from '../model/model.ts'
import { readerOf } from '../reader.ts'
import { type OrgModelVersion, versionOf } from './version.ts'

/** The version that counts. A tenant has one from its first moment. */
export async function activeVersion(call: Call): Promise<OrgModelVersion> {
  const row = await (await versions(call)).findFirstOrThrow({ where: { status: 'ACTIVE' } })
  return versionOf(row)
}

/** The draft, when one is open. */
export async function openDraft(call: Call): Promise<OrgModelVersion | null> {
  const row = await (await versions(call)).findFirst({ where: { status: 'DRAFT' } })
  return row === null ? null : versionOf(row)
}

export async function versionById(call: Call, id: string): Promise<OrgModelVersion | null> {
  return (await versionsByIds(call, [id])).get(canonicalId(id) ?? id) ?? null
}

/** Those of the versions that exist, by id. */
export async function versionsByIds(call: Call, ids: readonly string[]): Promise<ReadonlyMap<string, OrgModelVersion>> {
  const rows = await (await versions(call)).findMany({ where: { id: { in: canonicalIds(ids) } } })
  return new Map(rows.map((row) => [row.id, versionOf(row)]))
}

export async function versionByNumber(call: Call, number: number): Promise<OrgModelVersion | null> {
  const row = await (await versions(call)).findFirst({ where: { number } })
  return row === null ? null : versionOf(row)
}

export interface VersionFilter {
  readonly statuses?: readonly VersionStatus[]
}

export interface VersionKey {
  readonly number: number
}

export const versionKey = ({ number }: VersionKey): VersionKey => ({ number })

/** The tenant's versions, the newest first. */
export async function listVersions(
  call: Call,
  request: VersionFilter & PageRequest<VersionKey>,
): Promise<Page<OrgModelVersion>> {
  const { after, before } = request
  const rows = await (await versions(call)).findMany({
    where: { ...matches(request), ...numbered(after, before) },
    orderBy: { number: before === undefined ? 'desc' : 'asc' },
    take: rowsToRead(request),
  })
  return pageOf(request, rows.map(versionOf))
}

/** How many there are. */
export async function countVersions(call: Call, filter: VersionFilter): Promise<number> {
  return (await versions(call)).count({ where: matches(filter) })
}

const matches = ({ statuses }: VersionFilter) => (statuses === undefined ? {} : { status: { in: [...statuses] } })

const numbered = (after: VersionKey | undefined, before: VersionKey | undefined) =>
  after === undefined && before === undefined
    ? {}
    : {
        number: {
          ...(after === undefined ? {} : { lt: after.number }),
          ...(before === undefined ? {} : { gt: before.number }),
        },
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
