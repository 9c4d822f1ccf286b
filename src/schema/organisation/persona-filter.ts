import type { Comparison, ConditionTree } from '../../domain/conditions/index.ts'
import { builder } from '../builder.ts'
import { describedEnum } from '../lifecycle-enum.ts'

export const PersonaComparison = describedEnum('PersonaComparison', 'How a condition looks at an attribute.', {
  IN: 'It is one of `valueIds`.',
  NOT_IN: 'It is none of `valueIds`, or is not set.',
  DESCENDANT_OF: 'It is one of `valueIds` or lies below one of them in the hierarchy.',
  IS_SET: 'The person has it.',
  IS_NOT_SET: 'The person does not have it.',
  EQUALS: 'It equals `literal`.',
  LESS_THAN: 'It is less than `literal`; a date: before it.',
  GREATER_THAN: 'It is greater than `literal`; a date: after it.',
  CONTAINS: 'The text holds `literal`.',
  BETWEEN: 'It lies in `range`, both ends included.',
})

type ComparisonName = keyof typeof COMPARISONS

const COMPARISONS = {
  IN: 'in',
  NOT_IN: 'notIn',
  DESCENDANT_OF: 'descendantOf',
  IS_SET: 'isSet',
  IS_NOT_SET: 'isNotSet',
  EQUALS: 'eq',
  LESS_THAN: 'lt',
  GREATER_THAN: 'gt',
  CONTAINS: 'contains',
  BETWEEN: 'between',
} as const satisfies Record<string, Comparison>

const NAMES = new Map(Object.entries(COMPARISONS).map(([name, cmp]) => [cmp as Comparison, name as ComparisonName]))

type Literal = string | number | boolean

/** One of the four, as `@oneOf` has it. */
export interface LiteralInput {
  readonly text?: string | null | undefined
  readonly number?: number | null | undefined
  readonly boolean?: boolean | null | undefined
  readonly date?: string | null | undefined
}

export interface ConditionInput {
  readonly attributeId: string
  readonly comparison: ComparisonName
  readonly valueIds?: readonly string[] | null | undefined
  readonly literal?: LiteralInput | null | undefined
  readonly range?: { readonly from: LiteralInput; readonly to: LiteralInput } | null | undefined
}

/** A filter as the API speaks it, in input and output alike: exactly one of the four is there. */
export interface FilterInput {
  readonly and?: readonly FilterInput[] | null | undefined
  readonly or?: readonly FilterInput[] | null | undefined
  readonly not?: FilterInput | null | undefined
  readonly condition?: ConditionInput | null | undefined
}

const PersonaLiteralInput = builder.inputRef<LiteralInput>('PersonaLiteralInput').implement({
  description: 'What to compare an attribute with, in the kind that the attribute holds.',
  isOneOf: true,
  fields: (t) => ({
    text: t.string({ description: 'For a TEXT attribute.' }),
    number: t.float({ description: 'For a NUMBER attribute.' }),
    boolean: t.boolean({ description: 'For a BOOLEAN attribute.' }),
    date: t.field({ type: 'Date', description: 'For a DATE attribute.' }),
  }),
})

const PersonaRangeInput = builder.inputRef<NonNullable<ConditionInput['range']>>('PersonaRangeInput').implement({
  description: 'From one number or day to another, both included.',
  fields: (t) => ({
    from: t.field({ type: PersonaLiteralInput, required: true, description: 'The lower end.' }),
    to: t.field({ type: PersonaLiteralInput, required: true, description: 'The upper end.' }),
  }),
})

const PersonaConditionInput = builder.inputRef<ConditionInput>('PersonaConditionInput').implement({
  description: 'A condition on one attribute. Give what the comparison needs and nothing else.',
  fields: (t) => ({
    attributeId: t.field({ type: 'UUID', required: true, description: 'The attribute’s `uuid`.' }),
    comparison: t.field({ type: PersonaComparison, required: true, description: 'How to look at it.' }),
    valueIds: t.field({
      type: ['UUID'],
      description: 'The values’ `uuid`s, at most 1,000. For IN, NOT_IN and DESCENDANT_OF.',
    }),
    literal: t.field({
      type: PersonaLiteralInput,
      description: 'What to compare with. For EQUALS, LESS_THAN, GREATER_THAN and CONTAINS.',
    }),
    range: t.field({ type: PersonaRangeInput, description: 'For BETWEEN.' }),
  }),
})

export const PersonaFilterInput = builder.inputRef<FilterInput>('PersonaFilterInput')
PersonaFilterInput.implement({
  description: 'Which people a persona selects: a tree of at most 12 levels and 500 nodes. Give exactly one field.',
  isOneOf: true,
  fields: (t) => ({
    and: t.field({ type: [PersonaFilterInput], description: 'All of these hold. At least one.' }),
    or: t.field({ type: [PersonaFilterInput], description: 'At least one of these holds. At least one.' }),
    not: t.field({ type: PersonaFilterInput, description: 'This does not hold.' }),
    condition: t.field({ type: PersonaConditionInput, description: 'This holds of one attribute.' }),
  }),
})

/** The filter as the domain has it. What does not fit together is left for the domain to refuse. */
export function toTree(filter: FilterInput): ConditionTree {
  if (filter.and) return { op: 'and', items: filter.and.map(toTree) }
  if (filter.or) return { op: 'or', items: filter.or.map(toTree) }
  if (filter.not) return { op: 'not', item: toTree(filter.not) }
  const { attributeId, comparison, valueIds, literal, range } = filter.condition!
  return {
    op: 'cond',
    field: attributeId,
    cmp: COMPARISONS[comparison],
    ...(valueIds ? { values: valueIds } : {}),
    ...(literal ? { literal: literalOf(literal) } : {}),
    ...(range ? { literal: [literalOf(range.from), literalOf(range.to)] } : {}),
  } as ConditionTree
}

const literalOf = ({ text, number, boolean, date }: LiteralInput): Literal => text ?? number ?? boolean ?? date ?? ''

/** The filter as the API speaks it. */
export function fromTree(tree: ConditionTree): FilterInput {
  if (tree.op === 'not') return { not: fromTree(tree.item) }
  if (tree.op !== 'cond') return { [tree.op]: tree.items.map(fromTree) }
  const condition = { attributeId: tree.field, comparison: NAMES.get(tree.cmp)! }
  if ('values' in tree) return { condition: { ...condition, valueIds: tree.values } }
  if (!('literal' in tree)) return { condition }
  if (tree.cmp !== 'between') return { condition: { ...condition, literal: literalInput(tree.literal) } }
  const [from, to] = tree.literal
  return { condition: { ...condition, range: { from: literalInput(from), to: literalInput(to) } } }
}

function literalInput(literal: Literal): LiteralInput {
  if (typeof literal === 'number') return { number: literal }
  if (typeof literal === 'boolean') return { boolean: literal }
  // A tree does not say whether a text is a day; read back, both mean the same.
  return /^\d{4}-\d{2}-\d{2}$/.test(literal) ? { date: literal } : { text: literal }
}

const CONDITION_FIELDS: Readonly<Record<string, string>> = {
  field: 'attributeId',
  cmp: 'comparison',
  values: 'valueIds',
  literal: 'literal',
}

/** Where a place in the domain's tree (a JSON pointer) stands in the input: `['not', 'condition', 'valueIds', '1']`. */
export function inputPathOf(tree: ConditionTree, pointer: string): string[] {
  const [step, ...rest] = pointer.split('/').slice(1)
  if (tree.op === 'not') return step === undefined ? [] : ['not', ...inputPathOf(tree.item, rest.map(slashed).join(''))]
  if (tree.op !== 'cond') {
    const index = rest.shift()
    const item = index === undefined ? undefined : tree.items[Number(index)]
    if (item === undefined || index === undefined) return [tree.op]
    return [tree.op, index, ...inputPathOf(item, rest.map(slashed).join(''))]
  }
  if (step === undefined) return ['condition']
  const isRange = step === 'literal' && tree.cmp === 'between'
  return ['condition', isRange ? 'range' : (CONDITION_FIELDS[step] ?? step), ...rest]
}

const slashed = (step: string): string => `/${step}`
