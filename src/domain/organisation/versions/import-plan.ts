import { newId } from '../ids.ts'
import {
  ATTRIBUTE_SOURCES,
  type AttributeSource,
  DATA_TYPES,
  type DataType,
  isChoice,
  type ModelSnapshot,
} from '../model/model.ts'
import { type ImportProblem, ModelImportInvalidError } from './errors.ts'
import {
  attributeKeyProblem,
  type Broken,
  canonicalKey,
  descriptionProblem,
  labelProblem,
  valueKeyProblem,
} from './keys.ts'

export interface ImportedAttribute {
  readonly key: string
  readonly label: string
  readonly description?: string | null
  readonly dataType: DataType
  readonly required?: boolean
  readonly sensitive?: boolean
  readonly source?: AttributeSource
  /** SINGLE_SELECT, MULTI_SELECT and HIERARCHY only. */
  readonly values?: readonly ImportedValue[]
}

export interface ImportedValue {
  readonly key: string
  /** Default: the key. */
  readonly label?: string
  /** HIERARCHY only: the key of another value of the attribute. */
  readonly parentKey?: string | null
}

/** Rows as they are written; `known`: the identity exists. */
export interface ImportPlan {
  readonly attributes: readonly PlannedAttribute[]
  readonly values: readonly PlannedValue[]
}

interface PlannedAttribute {
  readonly id: string
  readonly known: boolean
  readonly key: string
  readonly label: string
  readonly description: string | null
  readonly dataType: DataType
  readonly required: boolean
  readonly sensitive: boolean
  readonly source: AttributeSource
  readonly sortOrder: number
}

interface PlannedValue {
  readonly id: string
  readonly known: boolean
  readonly attributeId: string
  readonly key: string
  readonly label: string
  readonly parentValueId: string | null
  readonly sortOrder: number
}

const MOST_ATTRIBUTES = 500
const MOST_VALUES = 20_000

/**
 * Finds for each thing its identity: what has the same key in the base is the same thing, all else is new. So a
 * second import of the same model changes nothing.
 * @throws ModelImportInvalidError with everything that is wrong
 */
export function planImport(base: ModelSnapshot, attributes: readonly ImportedAttribute[]): ImportPlan {
  const problems = problemsOf(attributes)
  if (problems.length > 0) throw new ModelImportInvalidError(problems)
  const known = new Map([...base.attributes.values()].map((attribute) => [attribute.key, attribute]))
  const planned = attributes.map((attribute, sortOrder) => {
    const same = known.get(attribute.key)
    const id = same?.id ?? newId()
    return {
      attribute: {
        id,
        known: same !== undefined,
        key: attribute.key,
        label: attribute.label,
        description: attribute.description ?? null,
        dataType: attribute.dataType,
        required: attribute.required ?? false,
        sensitive: attribute.sensitive ?? false,
        source: attribute.source ?? 'MANUAL',
        sortOrder,
      },
      values: planValues(id, attribute.values ?? [], new Map(same?.values.map((value) => [value.key, value.id]))),
    }
  })
  return { attributes: planned.map(({ attribute }) => attribute), values: planned.flatMap(({ values }) => values) }
}

function planValues(
  attributeId: string,
  values: readonly ImportedValue[],
  known: ReadonlyMap<string, string>,
): PlannedValue[] {
  const ids = new Map(values.map(({ key }) => [canonicalKey(key), known.get(canonicalKey(key)) ?? newId()]))
  return values.map(({ key, label, parentKey }, sortOrder) => ({
    id: ids.get(canonicalKey(key)) as string,
    known: known.has(canonicalKey(key)),
    attributeId,
    key: canonicalKey(key),
    label: label ?? key,
    parentValueId: parentKey === null || parentKey === undefined ? null : (ids.get(canonicalKey(parentKey)) as string),
    sortOrder,
  }))
}

function problemsOf(attributes: readonly ImportedAttribute[]): ImportProblem[] {
  const values = attributes.reduce((sum, attribute) => sum + (attribute.values?.length ?? 0), 0)
  if (attributes.length > MOST_ATTRIBUTES || values > MOST_VALUES) {
    const message = `A model has at most ${MOST_ATTRIBUTES} attributes and ${MOST_VALUES} values in all.`
    return [{ path: ['attributes'], code: 'orgmodel.import.too_large', message }]
  }
  const keys = new Set<string>()
  return attributes.flatMap((attribute, index) => {
    const at = ['attributes', String(index)]
    const twice = keys.has(attribute.key)
    keys.add(attribute.key)
    return [
      ...problem([...at, 'key'], attributeKeyProblem(attribute.key)),
      ...problem([...at, 'key'], twice ? taken(attribute.key) : null),
      ...problem([...at, 'label'], labelProblem(attribute.label)),
      ...problem([...at, 'description'], descriptionProblem(attribute.description)),
      ...problem([...at, 'dataType'], DATA_TYPES.includes(attribute.dataType) ? null : UNKNOWN_DATA_TYPE),
      ...problem([...at, 'source'], ATTRIBUTE_SOURCES.includes(attribute.source ?? 'MANUAL') ? null : UNKNOWN_SOURCE),
      ...problemsOfValues(attribute, [...at, 'values']),
    ]
  })
}

function problemsOfValues({ dataType, values = [] }: ImportedAttribute, at: readonly string[]): ImportProblem[] {
  if (values.length > 0 && !isChoice(dataType)) return problem(at, NOT_A_CHOICE)
  const all = new Set(values.map(({ key }) => canonicalKey(key)))
  const seen = new Set<string>()
  return values.flatMap(({ key, label, parentKey }, index) => {
    const here = [...at, String(index)]
    const twice = seen.has(canonicalKey(key))
    seen.add(canonicalKey(key))
    return [
      ...problem([...here, 'key'], valueKeyProblem(canonicalKey(key))),
      ...problem([...here, 'key'], twice ? taken(key) : null),
      ...problem([...here, 'label'], labelProblem(label ?? key)),
      ...problem([...here, 'parentKey'], parentProblem(dataType, parentKey ?? null, all)),
    ]
  })
}

function parentProblem(dataType: DataType, parentKey: string | null, keys: ReadonlySet<string>): Broken {
  if (parentKey === null) return null
  if (dataType !== 'HIERARCHY') return NOT_A_HIERARCHY
  if (keys.has(canonicalKey(parentKey))) return null
  return { code: 'orgmodel.import.parent_unknown', message: `No value of the attribute has the key "${parentKey}".` }
}

const problem = (path: readonly string[], broken: Broken): ImportProblem[] =>
  broken === null ? [] : [{ path, ...broken }]

const taken = (key: string): Broken => ({
  code: 'orgmodel.import.duplicate_key',
  message: `The key "${key}" stands twice.`,
})

const UNKNOWN_DATA_TYPE = {
  code: 'orgmodel.import.data_type_unknown',
  message: `The data type is one of ${DATA_TYPES.join(', ')}.`,
}
const UNKNOWN_SOURCE = {
  code: 'orgmodel.import.source_unknown',
  message: `The source is one of ${ATTRIBUTE_SOURCES.join(', ')}.`,
}
const NOT_A_CHOICE = {
  code: 'orgmodel.value.not_a_choice',
  message: 'Only a SINGLE_SELECT, MULTI_SELECT or HIERARCHY attribute has values of its own.',
}
const NOT_A_HIERARCHY = {
  code: 'orgmodel.value.not_a_hierarchy',
  message: 'Only the values of a HIERARCHY attribute have a parent.',
}
