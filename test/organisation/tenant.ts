import { randomUUID } from 'node:crypto'
import type { Database, TenantClient } from '../../src/database/index.ts'
import type { Call } from '../../src/domain/call.ts'
import {
  createInitialVersion,
  importOrgModel,
  type ImportedAttribute,
  loadModel,
  type ModelSnapshot,
  type OrgModelVersion,
  versionById,
  versionLifecycle,
} from '../../src/domain/organisation/index.ts'
import { readerOf } from '../../src/domain/organisation/reader.ts'
import { contentHashOf } from '../../src/domain/organisation/model/canonical.ts'
import { transition } from '../../src/transitions/index.ts'
import { createTenant } from '../../src/viewer/index.ts'

const HOUR = 3_600_000

/** A new tenant with its empty active version, and somebody who may do everything in it. */
export async function newTenant(database: Database, roles: readonly string[] = ['administrator']): Promise<Call> {
  const identity = {
    subject: 'anna',
    roles: ['operator'],
    tokenIssuedAt: new Date(),
    tokenExpiresAt: new Date(Date.now() + HOUR),
    correlationId: randomUUID(),
  }
  const tenant = await createTenant({ operator: identity, database }, { name: `Tenant ${randomUUID()}` }, [
    createInitialVersion,
  ])
  return { database, viewer: { ...identity, roles, tenantId: tenant.id } }
}

/** The same tenant with other roles. */
export const withRoles = (call: Call, ...roles: string[]): Call => ({ ...call, viewer: { ...call.viewer, roles } })

/**
 * Makes the draft the active version. What activation checks is not the subject of these tests; the database still
 * keeps its own rules: archive first, content hash and time given, an event for each.
 */
export async function activate(call: Call, draftId: string): Promise<ModelSnapshot> {
  const act = { actor: call.viewer.subject, correlationId: call.viewer.correlationId }
  await call.database.transaction(call.viewer.tenantId, async (tx) => {
    const active = await tx.prisma.orgModelVersion.findFirstOrThrow({ where: { status: 'ACTIVE' } })
    const now = new Date().toISOString()
    await transition(tx, versionLifecycle, { id: active.id, to: 'ARCHIVED', act, set: { archived_at: now } })
    const set = {
      activated_at: now,
      activated_by: act.actor,
      content_hash: contentHashOf(await loadModel(tx, draftId)),
    }
    await transition(tx, versionLifecycle, { id: draftId, to: 'ACTIVE', act, set })
  })
  return loadModel(readerOf(call), draftId)
}

/** Gives up the draft, as `activate` makes it active. */
export async function discard(call: Call, draftId: string): Promise<void> {
  const act = { actor: call.viewer.subject, correlationId: call.viewer.correlationId }
  await call.database.transaction(call.viewer.tenantId, (tx) =>
    transition(tx, versionLifecycle, {
      id: draftId,
      to: 'DISCARDED',
      act,
      set: { discarded_at: new Date().toISOString(), discarded_by: act.actor },
    }),
  )
}

/** A model as many tests need it: a select, a select of several, a hierarchy, a number, a date, a text, a boolean. */
export const MODEL: readonly ImportedAttribute[] = [
  {
    key: 'department',
    label: 'Department',
    dataType: 'SINGLE_SELECT',
    values: [
      { key: 'sales', label: 'Sales' },
      { key: 'research', label: 'Research' },
      { key: 'hr', label: 'Human Resources' },
    ],
  },
  { key: 'skills', label: 'Skills', dataType: 'MULTI_SELECT', values: [{ key: 'a' }, { key: 'b' }, { key: 'c' }] },
  {
    key: 'place',
    label: 'Place',
    dataType: 'HIERARCHY',
    values: [
      { key: 'nl', label: 'Netherlands' },
      { key: 'utrecht', label: 'Utrecht', parentKey: 'nl' },
      { key: 'zeist', label: 'Zeist', parentKey: 'utrecht' },
      { key: 'be', label: 'Belgium' },
    ],
  },
  { key: 'level', label: 'Level', dataType: 'NUMBER' },
  { key: 'since', label: 'Since', dataType: 'DATE' },
  { key: 'remark', label: 'Remark', dataType: 'TEXT' },
  { key: 'remote', label: 'Remote', dataType: 'BOOLEAN' },
]

/** A new tenant whose active model is `MODEL`. */
export async function tenantWithModel(database: Database): Promise<{ call: Call; model: ModelSnapshot }> {
  const call = await newTenant(database)
  const { version } = await importOrgModel(call, { attributes: MODEL })
  return { call, model: await activate(call, version.id) }
}

/** The attribute's id by key; throws when there is none. */
export const attributeId = (model: ModelSnapshot, key: string): string => attributeByKey(model, key).id

/** The value's id by the keys of attribute and value; throws when there is none. */
export function valueId(model: ModelSnapshot, attribute: string, key: string): string {
  const value = attributeByKey(model, attribute).values.find((candidate) => candidate.key === key)
  if (value === undefined) throw new Error(`The model has no value ${attribute}/${key}.`)
  return value.id
}

function attributeByKey(model: ModelSnapshot, key: string) {
  const attribute = [...model.attributes.values()].find((candidate) => candidate.key === key)
  if (attribute === undefined) throw new Error(`The model has no attribute ${key}.`)
  return attribute
}

/** Prisma as the call's tenant sees it, for looking at rows. */
export const rowsOf = (call: Call): Promise<TenantClient> => call.database.forTenant(call.viewer.tenantId)

/** The draft, when one is open. */
export async function openDraft(call: Call): Promise<OrgModelVersion | null> {
  const row = await (await rowsOf(call)).orgModelVersion.findFirst({ where: { status: 'DRAFT' } })
  return row === null ? null : versionById(call, row.id)
}

/** The person with this outside key. */
export const personByExternalId = async (call: Call, externalId: string) =>
  (await rowsOf(call)).person.findFirst({ where: { externalId } })

/** What these people hold, by person. */
export async function personValues(call: Call, personIds: readonly string[]) {
  const rows = await (await rowsOf(call)).personAttributeValue.findMany({
    where: { personId: { in: [...personIds] } },
    orderBy: { item: 'asc' },
  })
  return new Map(personIds.map((id) => [id, rows.filter(({ personId }) => personId === id)]))
}
