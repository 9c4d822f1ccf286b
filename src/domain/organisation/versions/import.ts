import { statement } from '../../../database/index.ts'
import { mustBeAllowed } from '../../../viewer/index.ts'
import type { Call } from '../../call.ts'
import { actOf } from '../act.ts'
import { loadModel } from '../model/load.ts'
import { type NetChange, netChanges } from '../model/net-change.ts'
import { writeTransaction } from '../write-transaction.ts'
import { described, insertDraft, mayOpenDraft } from './create.ts'
import { type ImportedAttribute, planImport } from './import-plan.ts'
import { appendOperation } from './operations.ts'
import type { OrgModelVersion } from './version.ts'

export interface ImportOrgModelInput {
  readonly name?: string | null
  readonly note?: string | null
  /** The whole model, in order: what is not in it is removed. */
  readonly attributes: readonly ImportedAttribute[]
}

export interface OrgModelImported {
  readonly version: OrgModelVersion
  /** What the draft would change. */
  readonly changes: readonly NetChange[]
}

/**
 * Opens a draft that holds this model and nothing else. What has the same key as in the active version keeps its
 * identity, so whatever refers to it goes on referring to it.
 * @throws ModelImportInvalidError, DraftAlreadyExistsError
 */
export async function importOrgModel(call: Call, input: ImportOrgModelInput): Promise<OrgModelImported> {
  mustBeAllowed(call.viewer, 'orgmodel.edit')
  const act = actOf(call.viewer)
  return writeTransaction(call, async (tx) => {
    const opening = await mayOpenDraft(tx)
    const base = await loadModel(tx, opening.baseVersionId)
    const plan = planImport(base, input.attributes)
    const version = await insertDraft(tx, act, {
      ...opening,
      ...described(input),
      source: 'IMPORT',
      revertsVersionId: null,
      contentRevision: IMPORTED,
    })
    await tx.query(INSERT_ATTRIBUTES, [version.id, JSON.stringify(plan.attributes)])
    await tx.query(INSERT_VALUES, [version.id, JSON.stringify(plan.values)])
    const after = { attributes: plan.attributes.length, values: plan.values.length }
    const operation = { op: 'IMPORT', attributeId: null, valueId: null, before: null, after } as const
    await appendOperation(tx, { ...operation, ...act, versionId: version.id, seq: IMPORTED })
    return { version, changes: netChanges(base, await loadModel(tx, version.id)) }
  })
}

/** The content revision of a draft that an import made: the import is its first edit. */
const IMPORTED = 1

// Identity and state in one statement each: foreign keys are checked at its end.
const INSERT_ATTRIBUTES = statement<unknown>(
  'organisation.import.attributes',
  `with planned as (
     select * from jsonb_to_recordset($3::jsonb) as p(
       id uuid, known boolean, key text, label text, description text, "dataType" text, required boolean,
       sensitive boolean, source text, "sortOrder" int)
   ), identity as (
     insert into org_model_attribute (tenant_id, id, first_version_id)
     select $1::uuid, id, $2::uuid from planned where not known
   )
   insert into org_model_attribute_state
     (tenant_id, version_id, attribute_id, key, label, description, data_type, required, sensitive, source, sort_order)
   select $1::uuid, $2::uuid, id, key, label, description, "dataType", required, sensitive, source, "sortOrder"
   from planned`,
)

const INSERT_VALUES = statement<unknown>(
  'organisation.import.values',
  `with planned as (
     select * from jsonb_to_recordset($3::jsonb) as p(
       id uuid, known boolean, "attributeId" uuid, key text, label text, "parentValueId" uuid, "sortOrder" int)
   ), identity as (
     insert into org_model_value (tenant_id, id, attribute_id)
     select $1::uuid, id, "attributeId" from planned where not known
   )
   insert into org_model_value_state
     (tenant_id, version_id, value_id, attribute_id, key, label, parent_value_id, sort_order)
   select $1::uuid, $2::uuid, id, "attributeId", key, label, "parentValueId", "sortOrder" from planned`,
)
