import { statement } from '../../../database/index.ts'
import { ConflictError, NotFoundError, ValidationError } from '../../../errors/index.ts'
import type { Call } from '../../call.ts'
import { canonicalId, newId } from '../ids.ts'
import {
  type AttributeSource,
  type DataType,
  isChoice,
  type ModelAttribute,
  type ModelSnapshot,
} from '../model/model.ts'
import { editDraft, type EditInput } from './edit.ts'
import { attributeKeyProblem, descriptionProblem, labelProblem, mustKeep } from './keys.ts'
import { difference, given, nextPlace } from './state.ts'
import type { OrgModelVersion } from './version.ts'

export interface AttributeEdited {
  readonly version: OrgModelVersion
  readonly attribute: ModelAttribute
}

export interface AddAttributeInput extends EditInput {
  readonly key: string
  readonly label: string
  readonly dataType: DataType
  readonly description?: string | null
  readonly required?: boolean
  readonly source?: AttributeSource
  readonly sensitive?: boolean
  /** The attribute of the model whose place this one takes: offers to carry references over to it. */
  readonly replacesAttributeId?: string | null
  /** Where it stands; last when left out. */
  readonly sortOrder?: number
}

/** @throws NoDraftError, DraftChangedError, ValidationError, ConflictError (`orgmodel.attribute.key_taken`) */
export async function addAttribute(call: Call, input: AddAttributeInput): Promise<AttributeEdited> {
  mustKeep(attributeKeyProblem(input.key), 'key')
  mustKeep(labelProblem(input.label), 'label')
  mustKeep(descriptionProblem(input.description), 'description')
  const id = newId()
  const { version, model } = await editDraft(call, input, async (tx, draft) => {
    mustBeFree(draft.model, input.key, id)
    const replaced = input.replacesAttributeId ?? null
    const state: AttributeState = {
      key: input.key,
      label: input.label,
      dataType: input.dataType,
      description: input.description ?? null,
      required: input.required ?? false,
      source: input.source ?? 'MANUAL',
      sensitive: input.sensitive ?? false,
      defaultValueId: null,
      replacesAttributeId: replaced === null ? null : await knownAttribute(replaced),
      deprecated: false,
      sortOrder: input.sortOrder ?? nextPlace(draft.model.attributes.values()),
    }
    await tx.query(INSERT, [draft.id, id, JSON.stringify(state)])
    return { op: 'ADD_ATTRIBUTE', attributeId: id, valueId: null, before: null, after: state }

    async function knownAttribute(text: string): Promise<string> {
      const known = canonicalId(text)
      const row = known === null ? null : await tx.prisma.orgModelAttribute.findFirst({ where: { id: known } })
      if (row === null) throw new NotFoundError('The attribute to replace', { path: ['replacesAttributeId'] })
      return row.id
    }
  })
  return { version, attribute: model.attributes.get(id) as ModelAttribute }
}

export interface UpdateAttributeInput extends EditInput {
  readonly attributeId: string
  readonly key?: string
  readonly label?: string
  readonly description?: string | null
  readonly dataType?: DataType
  readonly required?: boolean
  readonly defaultValueId?: string | null
  readonly source?: AttributeSource
  readonly sensitive?: boolean
  readonly deprecated?: boolean
  readonly sortOrder?: number
}

/** Changes what is given and leaves the rest. Errors as `addAttribute`. */
export async function updateAttribute(call: Call, input: UpdateAttributeInput): Promise<AttributeEdited> {
  if (input.key !== undefined) mustKeep(attributeKeyProblem(input.key), 'key')
  if (input.label !== undefined) mustKeep(labelProblem(input.label), 'label')
  mustKeep(descriptionProblem(input.description), 'description')
  let id = input.attributeId
  const { version, model } = await editDraft(call, input, async (tx, draft) => {
    const attribute = attributeOf(draft.model, input.attributeId)
    id = attribute.id
    if (input.key !== undefined) mustBeFree(draft.model, input.key, id)
    if (input.dataType !== undefined) mayBecome(attribute, input.dataType)
    const before = stateOf(attribute)
    const after = { ...before, ...given(input, STATE_KEYS) }
    if (after.defaultValueId !== null) after.defaultValueId = ownValue(attribute, after.defaultValueId)
    const changed = difference(before, after)
    if (changed === null) return null
    await tx.query(UPDATE, [draft.id, id, JSON.stringify(after)])
    return { op: 'UPDATE_ATTRIBUTE', attributeId: id, valueId: null, ...changed }
  })
  return { version, attribute: model.attributes.get(id) as ModelAttribute }
}

export interface RemoveAttributeInput extends EditInput {
  readonly attributeId: string
}

/** Takes the attribute and its values out of the draft. @throws NoDraftError, DraftChangedError, NotFoundError */
export async function removeAttribute(call: Call, input: RemoveAttributeInput): Promise<{ version: OrgModelVersion }> {
  const { version } = await editDraft(call, input, async (tx, draft) => {
    const attribute = attributeOf(draft.model, input.attributeId)
    await tx.query(DELETE_VALUES, [draft.id, attribute.id])
    await tx.query(DELETE, [draft.id, attribute.id])
    const values = attribute.values.map(({ id, key, label }) => ({ id, key, label }))
    const before = { ...stateOf(attribute), values }
    return { op: 'REMOVE_ATTRIBUTE', attributeId: attribute.id, valueId: null, before, after: null }
  })
  return { version }
}

/** The attribute of the draft. @throws NotFoundError */
export function attributeOf(model: ModelSnapshot, attributeId: string): ModelAttribute {
  const attribute = model.attributes.get(canonicalId(attributeId) ?? '')
  if (attribute === undefined) throw new NotFoundError('The attribute in this draft', { path: ['attributeId'] })
  return attribute
}

type AttributeState = {
  key: string
  label: string
  description: string | null
  dataType: DataType
  required: boolean
  defaultValueId: string | null
  replacesAttributeId: string | null
  source: AttributeSource
  sensitive: boolean
  deprecated: boolean
  sortOrder: number
}

const STATE_KEYS = [
  'key',
  'label',
  'description',
  'dataType',
  'required',
  'defaultValueId',
  'source',
  'sensitive',
  'deprecated',
  'sortOrder',
] as const

const stateOf = ({ id: _, values: _values, deprecatedAt, ...state }: ModelAttribute): AttributeState => ({
  ...state,
  deprecated: deprecatedAt !== null,
})

function mustBeFree(model: ModelSnapshot, key: string, own: string): void {
  const holder = [...model.attributes.values()].find((attribute) => attribute.key === key)
  if (holder === undefined || holder.id === own) return
  throw new ConflictError(`The attribute "${holder.label}" has the key "${key}" already.`, {
    code: 'orgmodel.attribute.key_taken',
    path: ['key'],
  })
}

function mayBecome({ values }: ModelAttribute, dataType: DataType): void {
  if (isChoice(dataType) || values.length === 0) return
  throw new ValidationError(`A ${dataType} attribute has no values of its own. Remove its ${values.length} first.`, {
    code: 'orgmodel.attribute.has_values',
    path: ['dataType'],
  })
}

function ownValue(attribute: ModelAttribute, valueId: string): string {
  const value = attribute.values.find(({ id }) => id === canonicalId(valueId))
  if (value === undefined) throw new NotFoundError('The default value', { path: ['defaultValueId'] })
  return value.id
}

const STATE_RECORD = `jsonb_to_record($4::jsonb) as s(
  key text, label text, description text, "dataType" text, required boolean, "defaultValueId" uuid,
  "replacesAttributeId" uuid, source text, sensitive boolean, deprecated boolean, "sortOrder" int)`

// Identity and state in one statement: foreign keys are checked at its end.
const INSERT = statement<unknown>(
  'organisation.attribute.insert',
  `with identity as (
     insert into org_model_attribute (tenant_id, id, first_version_id) values ($1::uuid, $3::uuid, $2::uuid)
   )
   insert into org_model_attribute_state
     (tenant_id, version_id, attribute_id, key, label, description, data_type, required, default_value_id,
      replaces_attribute_id, source, sensitive, sort_order)
   select $1::uuid, $2::uuid, $3::uuid, s.key, s.label, s.description, s."dataType", s.required, s."defaultValueId",
          s."replacesAttributeId", s.source, s.sensitive, s."sortOrder"
   from ${STATE_RECORD}`,
)

const UPDATE = statement<unknown>(
  'organisation.attribute.update',
  `update org_model_attribute_state a
   set key = s.key, label = s.label, description = s.description, data_type = s."dataType", required = s.required,
       default_value_id = s."defaultValueId", source = s.source, sensitive = s.sensitive,
       deprecated_at = case when s.deprecated then coalesce(a.deprecated_at, now()) end, sort_order = s."sortOrder"
   from ${STATE_RECORD}
   where a.tenant_id = $1::uuid and a.version_id = $2::uuid and a.attribute_id = $3::uuid`,
)

const OF_ATTRIBUTE = 'where tenant_id = $1::uuid and version_id = $2::uuid and attribute_id = $3::uuid'
const DELETE_VALUES = statement<unknown>(
  'organisation.attribute.delete_values',
  `delete from org_model_value_state ${OF_ATTRIBUTE}`,
)
const DELETE = statement<unknown>(
  'organisation.attribute.delete',
  `delete from org_model_attribute_state ${OF_ATTRIBUTE}`,
)
