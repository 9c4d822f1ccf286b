import { canonicalJson, type Json, sha256 } from './canonical.ts'
import type { ModelAttribute, ModelSnapshot, ModelValue } from './model.ts'

export type NetChangeKind =
  | 'ATTRIBUTE_ADDED'
  | 'ATTRIBUTE_REMOVED'
  /** Removed, and another attribute says it takes its place. */
  | 'ATTRIBUTE_REPLACED'
  | 'ATTRIBUTE_RELABELED'
  | 'ATTRIBUTE_KEY_CHANGED'
  | 'ATTRIBUTE_TYPE_CHANGED'
  | 'ATTRIBUTE_REQUIRED_CHANGED'
  | 'ATTRIBUTE_SOURCE_CHANGED'
  | 'ATTRIBUTE_DEPRECATED'
  | 'ATTRIBUTE_REORDERED'
  /** Its description, its default value or whether it is sensitive. */
  | 'ATTRIBUTE_DESCRIBED'
  | 'VALUE_ADDED'
  | 'VALUE_REMOVED'
  | 'VALUE_RELABELED'
  | 'VALUE_KEY_CHANGED'
  /** Another parent in the hierarchy. */
  | 'VALUE_MOVED'
  | 'VALUE_DEPRECATED'
  | 'VALUE_REORDERED'

/** One difference between two versions, whatever edits led to it. */
export interface NetChange {
  /** Depends on the kind, the thing and what it was and became; on nothing else. */
  readonly id: string
  readonly kind: NetChangeKind
  readonly attributeId: string
  /** Null for a change of the attribute itself. */
  readonly valueId: string | null
  /** What the thing is called in the later version, or was in the earlier one. */
  readonly label: string
  readonly before: Json
  readonly after: Json
}

/**
 * What differs between two versions, by identity: adding something and taking it away again is no change, and a
 * new label is never a removal. Values of an attribute that came or went are part of that change, but for those
 * that went: whoever refers to a value must be able to find its removal. Ordered by thing and kind.
 */
export function netChanges(from: ModelSnapshot, to: ModelSnapshot): NetChange[] {
  const changes: NetChange[] = []
  for (const [id, before] of from.attributes) {
    const after = to.attributes.get(id)
    if (after === undefined) changes.push(attributeGone(before, to), ...before.values.map(valueGone))
    else changes.push(...attributeChanged(before, after))
  }
  for (const [id, after] of to.attributes) if (!from.attributes.has(id)) changes.push(attributeCame(after))
  changes.push(...reordered('ATTRIBUTE_REORDERED', [...from.attributes.values()], [...to.attributes.values()]))
  return changes.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))
}

const orderOf = ({ attributeId, valueId, kind }: NetChange): string => `${attributeId} ${valueId ?? ''} ${kind}`

function attributeGone(before: ModelAttribute, to: ModelSnapshot): NetChange {
  const successors = [...to.attributes.values()].filter(({ replacesAttributeId }) => replacesAttributeId === before.id)
  const [successor] = successors
  return successor === undefined || successors.length > 1
    ? change('ATTRIBUTE_REMOVED', before, describe(before), null)
    : change('ATTRIBUTE_REPLACED', before, describe(before), { replacedBy: successor.id })
}

const attributeCame = (after: ModelAttribute): NetChange => change('ATTRIBUTE_ADDED', after, null, describe(after))
const valueGone = (before: ModelValue): NetChange => change('VALUE_REMOVED', before, describeValue(before), null)
const valueCame = (after: ModelValue): NetChange => change('VALUE_ADDED', after, null, describeValue(after))

const ATTRIBUTE_FACETS: readonly Facet<ModelAttribute>[] = [
  ['ATTRIBUTE_RELABELED', ({ label }) => label],
  ['ATTRIBUTE_KEY_CHANGED', ({ key }) => key],
  ['ATTRIBUTE_TYPE_CHANGED', ({ dataType }) => dataType],
  ['ATTRIBUTE_REQUIRED_CHANGED', ({ required }) => required],
  ['ATTRIBUTE_SOURCE_CHANGED', ({ source }) => source],
  ['ATTRIBUTE_DEPRECATED', ({ deprecatedAt }) => deprecatedAt !== null],
  ['ATTRIBUTE_DESCRIBED', ({ description, defaultValueId, sensitive }) => ({ description, defaultValueId, sensitive })],
]

const VALUE_FACETS: readonly Facet<ModelValue>[] = [
  ['VALUE_RELABELED', ({ label }) => label],
  ['VALUE_KEY_CHANGED', ({ key }) => key],
  ['VALUE_MOVED', ({ parentValueId }) => parentValueId],
  ['VALUE_DEPRECATED', ({ deprecatedAt }) => deprecatedAt !== null],
]

/** One thing that can change by itself, and the kind of change that it is. */
type Facet<Thing> = readonly [kind: NetChangeKind, facet: (thing: Thing) => Json]

function attributeChanged(before: ModelAttribute, after: ModelAttribute): NetChange[] {
  const had = new Map(before.values.map((value) => [value.id, value]))
  const has = new Map(after.values.map((value) => [value.id, value]))
  return [
    ...facets(ATTRIBUTE_FACETS, before, after),
    ...before.values.flatMap((value) => {
      const now = has.get(value.id)
      return now === undefined ? [valueGone(value)] : facets(VALUE_FACETS, value, now)
    }),
    ...after.values.filter(({ id }) => !had.has(id)).map(valueCame),
    ...reordered('VALUE_REORDERED', before.values, after.values),
  ]
}

const facets = <Thing extends ModelAttribute | ModelValue>(
  list: readonly Facet<Thing>[],
  before: Thing,
  after: Thing,
): NetChange[] =>
  list.flatMap(([kind, facet]) => {
    const [was, is] = [facet(before), facet(after)]
    return canonicalJson(was) === canonicalJson(is) ? [] : [change(kind, after, was, is)]
  })

/**
 * Things that stand in another place among those that stayed. The numbers of `sortOrder` themselves mean
 * nothing: taking the first of a list away moves none of the others.
 */
function reordered<Thing extends ModelAttribute | ModelValue>(
  kind: NetChangeKind,
  before: readonly Thing[],
  after: readonly Thing[],
): NetChange[] {
  const there = new Set(after.map(({ id }) => id))
  const was = new Map(before.filter(({ id }) => there.has(id)).map(({ id }, place) => [id, place]))
  return after
    .filter(({ id }) => was.has(id))
    .flatMap((thing, place) => {
      const former = was.get(thing.id) as number
      return former === place ? [] : [change(kind, thing, former, place)]
    })
}

const describe = ({ key, label, dataType, values }: ModelAttribute): Json => ({
  key,
  label,
  dataType,
  values: values.map(describeValue),
})

const describeValue = ({ id, key, label, parentValueId }: ModelValue): Json => ({ id, key, label, parentValueId })

function change(kind: NetChangeKind, thing: ModelAttribute | ModelValue, before: Json, after: Json): NetChange {
  const isValue = 'attributeId' in thing
  const id = sha256([kind, thing.id, canonicalJson(before), canonicalJson(after)].join('|'))
  const [attributeId, valueId] = isValue ? [thing.attributeId, thing.id] : [thing.id, null]
  return { id, kind, attributeId, valueId, label: thing.label, before, after }
}
