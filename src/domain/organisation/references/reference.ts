import { type ConditionTree, referencesOf } from '../../conditions/index.ts'

/** Kinds of things that refer to the model; each has one extractor. */
export type SourceKind = 'PERSONA' | 'STAGED_EFFECT'

/** INACTIVE: an archived persona. DRAFT: something that only counts when the draft is activated. */
export type SourceState = 'ACTIVE' | 'INACTIVE' | 'DRAFT'

export type ReferenceRole = 'CONDITION' | 'GROUP_BY' | 'PLACEHOLDER' | 'MAPPING' | 'REQUIREMENT' | 'POLICY' | 'PAYLOAD'

/** The thing that refers. */
export interface ReferenceSource {
  readonly sourceKind: SourceKind
  readonly sourceId: string
  readonly sourceLabel: string
  readonly sourceState: SourceState
}

/** One place in it that names an attribute or a value. */
export interface NewReference {
  /** JSON pointer to the operand. */
  readonly path: string
  readonly role: ReferenceRole
  readonly attributeId: string
  /** Null for a reference to the attribute itself. */
  readonly valueId: string | null
  readonly negated: boolean
}

export interface Reference extends ReferenceSource, NewReference {}

/** The references of a filter over the model; `prefix` is the JSON pointer to the filter within its source. */
export const filterReferences = (filter: ConditionTree, prefix = ''): NewReference[] =>
  referencesOf(filter).map(({ path, field, value, negated }) => ({
    path: `${prefix}${path}`,
    role: 'CONDITION',
    attributeId: field,
    valueId: value,
    negated,
  }))
