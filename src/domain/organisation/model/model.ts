import type { Field, Fields, FieldType } from '../../conditions/index.ts'
import { grouped } from './grouped.ts'

export const DATA_TYPES = ['TEXT', 'NUMBER', 'BOOLEAN', 'DATE', 'SINGLE_SELECT', 'MULTI_SELECT', 'HIERARCHY'] as const
export type DataType = (typeof DATA_TYPES)[number]

export const ATTRIBUTE_SOURCES = ['MANUAL', 'HRIS', 'SCIM', 'DERIVED'] as const
export type AttributeSource = (typeof ATTRIBUTE_SOURCES)[number]

/** Whether people hold values out of the attribute's own list. */
export const isChoice = (dataType: DataType): boolean => FIELD_TYPES[dataType] === 'CHOICE'

/** The content of one version, whole and apart from the database. */
export interface ModelSnapshot {
  readonly versionId: string
  /** By id, in the model's order. */
  readonly attributes: ReadonlyMap<string, ModelAttribute>
  /** All values of all attributes by id. */
  readonly values: ReadonlyMap<string, ModelValue>
}

/** An attribute as it is in one version. `id` is the same in every version, all else may differ. */
export interface ModelAttribute {
  readonly id: string
  readonly key: string
  readonly label: string
  readonly description: string | null
  readonly dataType: DataType
  /** Every person should have it. */
  readonly required: boolean
  readonly defaultValueId: string | null
  /** The attribute whose place this one takes. */
  readonly replacesAttributeId: string | null
  /** Who fills it. */
  readonly source: AttributeSource
  /** Shown only to who may see sensitive data. */
  readonly sensitive: boolean
  readonly deprecatedAt: Date | null
  readonly sortOrder: number
  /** In the attribute's order; empty unless the data type is a select or a hierarchy. */
  readonly values: readonly ModelValue[]
}

/** A value of an attribute as it is in one version. */
export interface ModelValue {
  readonly id: string
  readonly attributeId: string
  readonly key: string
  readonly label: string
  /** HIERARCHY only. */
  readonly parentValueId: string | null
  readonly deprecatedAt: Date | null
  readonly sortOrder: number
}

/** The snapshot of these attributes, which carry their values. */
export function snapshotOf(versionId: string, attributes: readonly ModelAttribute[]): ModelSnapshot {
  return {
    versionId,
    attributes: new Map(attributes.map((attribute) => [attribute.id, attribute])),
    values: new Map(attributes.flatMap(({ values }) => values.map((value) => [value.id, value]))),
  }
}

/** The model as the world of a condition tree: a field is an attribute's id, a value a value's id. */
export function fieldsOf(model: ModelSnapshot): Fields {
  const fields = new Map<string, Field>()
  return {
    field(id) {
      const known = fields.get(id)
      if (known !== undefined) return known
      const attribute = model.attributes.get(id)
      if (attribute === undefined) return undefined
      const field = fieldOf(attribute)
      fields.set(id, field)
      return field
    },
  }
}

const FIELD_TYPES: Readonly<Record<DataType, FieldType>> = {
  TEXT: 'TEXT',
  NUMBER: 'NUMBER',
  BOOLEAN: 'BOOLEAN',
  DATE: 'DATE',
  SINGLE_SELECT: 'CHOICE',
  MULTI_SELECT: 'CHOICE',
  HIERARCHY: 'CHOICE',
}

function fieldOf({ dataType, values }: ModelAttribute): Field {
  const ids = new Set(values.map(({ id }) => id))
  return {
    type: FIELD_TYPES[dataType],
    hasValue: (value) => ids.has(value),
    withDescendants: (roots) => withDescendants(values, roots),
  }
}

function withDescendants(values: readonly ModelValue[], roots: readonly string[]): string[] {
  const children = grouped(values, ({ parentValueId }) => parentValueId)
  const found = new Set<string>()
  const open = [...roots]
  // A draft may hold a cycle; each value is followed once.
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (found.has(id)) continue
    found.add(id)
    for (const child of children.get(id) ?? []) open.push(child.id)
  }
  return [...found]
}
