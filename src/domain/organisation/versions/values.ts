import { statement } from '../../../database/index.ts'
import { ConflictError, NotFoundError, ValidationError } from '../../../errors/index.ts'
import type { Call } from '../../call.ts'
import { canonicalId, newId } from '../ids.ts'
import { isChoice, type ModelAttribute, type ModelSnapshot, type ModelValue } from '../model/model.ts'
import { attributeOf } from './attributes.ts'
import { editDraft, type EditInput } from './edit.ts'
import { canonicalKey, labelProblem, mustKeep, valueKeyProblem } from './keys.ts'
import { difference, given, nextPlace } from './state.ts'
import type { OrgModelVersion } from './version.ts'

export interface ValueEdited {
  readonly version: OrgModelVersion
  readonly value: ModelValue
}

export interface AddValueInput extends EditInput {
  readonly attributeId: string
  readonly key: string
  readonly label: string
  /** HIERARCHY only. */
  readonly parentValueId?: string | null
  readonly sortOrder?: number
}

/** @throws NoDraftError, DraftChangedError, NotFoundError, ValidationError, ConflictError (`orgmodel.value.key_taken`) */
export async function addValue(call: Call, input: AddValueInput): Promise<ValueEdited> {
  const key = canonicalKey(input.key)
  mustKeep(valueKeyProblem(key), 'key')
  mustKeep(labelProblem(input.label), 'label')
  const id = newId()
  const { version, model } = await editDraft(call, input, async (tx, draft) => {
    const attribute = attributeOf(draft.model, input.attributeId)
    if (!isChoice(attribute.dataType)) {
      throw new ValidationError(`A ${attribute.dataType} attribute has no values of its own.`, {
        code: 'orgmodel.value.not_a_choice',
        path: ['attributeId'],
      })
    }
    mustBeFree(attribute, key, id)
    const state: ValueState = {
      key,
      label: input.label,
      parentValueId: parentOf(attribute, input.parentValueId ?? null),
      deprecated: false,
      sortOrder: input.sortOrder ?? nextPlace(attribute.values),
    }
    await tx.query(INSERT, [draft.id, id, JSON.stringify({ ...state, attributeId: attribute.id })])
    return { op: 'ADD_VALUE', attributeId: attribute.id, valueId: id, before: null, after: state }
  })
  return { version, value: model.values.get(id) as ModelValue }
}

export interface UpdateValueInput extends EditInput {
  readonly valueId: string
  readonly key?: string
  readonly label?: string
  readonly parentValueId?: string | null
  readonly deprecated?: boolean
  readonly sortOrder?: number
}

/** Changes what is given and leaves the rest. Errors as `addValue`. */
export async function updateValue(call: Call, input: UpdateValueInput): Promise<ValueEdited> {
  const key = input.key === undefined ? undefined : canonicalKey(input.key)
  if (key !== undefined) mustKeep(valueKeyProblem(key), 'key')
  if (input.label !== undefined) mustKeep(labelProblem(input.label), 'label')
  let id = input.valueId
  const { version, model } = await editDraft(call, input, async (tx, draft) => {
    const { value, attribute } = valueOf(draft.model, input.valueId)
    id = value.id
    if (key !== undefined) mustBeFree(attribute, key, id)
    const before = stateOf(value)
    const after = { ...before, ...given({ ...input, ...(key === undefined ? {} : { key }) }, STATE_KEYS) }
    if (input.parentValueId !== undefined) after.parentValueId = parentOf(attribute, input.parentValueId)
    const changed = difference(before, after)
    if (changed === null) return null
    await tx.query(UPDATE, [draft.id, id, JSON.stringify(after)])
    return { op: 'UPDATE_VALUE', attributeId: attribute.id, valueId: id, ...changed }
  })
  return { version, value: model.values.get(id) as ModelValue }
}

export interface RemoveValueInput extends EditInput {
  readonly valueId: string
}

/** Takes the value out of the draft. @throws NoDraftError, DraftChangedError, NotFoundError, ValidationError */
export async function removeValue(call: Call, input: RemoveValueInput): Promise<{ version: OrgModelVersion }> {
  const { version } = await editDraft(call, input, async (tx, draft) => {
    const { value, attribute } = valueOf(draft.model, input.valueId)
    if (attribute.defaultValueId === value.id) {
      throw new ValidationError(`"${value.label}" is the default of "${attribute.label}". Choose another one first.`, {
        code: 'orgmodel.value.is_default',
        path: ['valueId'],
      })
    }
    await tx.query(DELETE, [draft.id, value.id])
    return {
      op: 'REMOVE_VALUE',
      attributeId: attribute.id,
      valueId: value.id,
      before: stateOf(value),
      after: null,
    }
  })
  return { version }
}

type ValueState = {
  key: string
  label: string
  parentValueId: string | null
  deprecated: boolean
  sortOrder: number
}

const STATE_KEYS = ['key', 'label', 'deprecated', 'sortOrder'] as const

const stateOf = ({ key, label, parentValueId, deprecatedAt, sortOrder }: ModelValue): ValueState => ({
  key,
  label,
  parentValueId,
  deprecated: deprecatedAt !== null,
  sortOrder,
})

function valueOf(model: ModelSnapshot, valueId: string): { value: ModelValue; attribute: ModelAttribute } {
  const value = model.values.get(canonicalId(valueId) ?? '')
  if (value === undefined) throw new NotFoundError('The value in this draft', { path: ['valueId'] })
  return { value, attribute: model.attributes.get(value.attributeId) as ModelAttribute }
}

function mustBeFree({ label, values }: ModelAttribute, key: string, own: string): void {
  const holder = values.find((value) => value.key === key)
  if (holder === undefined || holder.id === own) return
  throw new ConflictError(`The value "${holder.label}" of "${label}" has the key "${key}" already.`, {
    code: 'orgmodel.value.key_taken',
    path: ['key'],
  })
}

/** Cycles and lost parents are for the draft's evaluation to find: edits may pass through them. */
function parentOf(attribute: ModelAttribute, parentValueId: string | null): string | null {
  const path = ['parentValueId']
  if (parentValueId === null) return null
  if (attribute.dataType !== 'HIERARCHY') {
    throw new ValidationError('Only the values of a HIERARCHY attribute have a parent.', {
      code: 'orgmodel.value.not_a_hierarchy',
      path,
    })
  }
  const parent = attribute.values.find(({ id }) => id === canonicalId(parentValueId))
  if (parent === undefined) throw new NotFoundError('The parent value in this draft', { path })
  return parent.id
}

const INSERT = statement<unknown>(
  'organisation.value.insert',
  `with given as (
     select * from jsonb_to_record($4::jsonb) as s(
       "attributeId" uuid, key text, label text, "parentValueId" uuid, "sortOrder" int)
   ), identity as (
     insert into org_model_value (tenant_id, id, attribute_id) select $1::uuid, $3::uuid, "attributeId" from given
   )
   insert into org_model_value_state
     (tenant_id, version_id, value_id, attribute_id, key, label, parent_value_id, sort_order)
   select $1::uuid, $2::uuid, $3::uuid, "attributeId", key, label, "parentValueId", "sortOrder" from given`,
)

const UPDATE = statement<unknown>(
  'organisation.value.update',
  `update org_model_value_state v
   set key = s.key, label = s.label, parent_value_id = s."parentValueId",
       deprecated_at = case when s.deprecated then coalesce(v.deprecated_at, now()) end, sort_order = s."sortOrder"
   from jsonb_to_record($4::jsonb) as s(
     key text, label text, "parentValueId" uuid, deprecated boolean, "sortOrder" int)
   where v.tenant_id = $1::uuid and v.version_id = $2::uuid and v.value_id = $3::uuid`,
)

const DELETE = statement<unknown>(
  'organisation.value.delete',
  'delete from org_model_value_state where tenant_id = $1::uuid and version_id = $2::uuid and value_id = $3::uuid',
)
