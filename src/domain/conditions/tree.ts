/**
 * The one filter and condition tree of Regie: personas select people with it, workflows and lifecycles decide
 * with it. What a `field` is and which `values` it may take is for whoever evaluates the tree to say (`Fields`).
 */
export type ConditionTree =
  | { readonly op: 'and' | 'or'; readonly items: readonly ConditionTree[] }
  | { readonly op: 'not'; readonly item: ConditionTree }
  | Condition

/** A leaf. `values` are ids of a choice field's values; `literal` is compared with what the field holds. */
export type Condition =
  | { readonly op: 'cond'; readonly field: string; readonly cmp: ChoiceComparison; readonly values: readonly string[] }
  | { readonly op: 'cond'; readonly field: string; readonly cmp: PresenceComparison }
  | { readonly op: 'cond'; readonly field: string; readonly cmp: 'eq'; readonly literal: string | number | boolean }
  | { readonly op: 'cond'; readonly field: string; readonly cmp: 'lt' | 'gt'; readonly literal: string | number }
  | { readonly op: 'cond'; readonly field: string; readonly cmp: 'contains'; readonly literal: string }
  | {
      readonly op: 'cond'
      readonly field: string
      readonly cmp: 'between'
      readonly literal: readonly [string, string] | readonly [number, number]
    }

export type ChoiceComparison = 'in' | 'notIn' | 'descendantOf'
export type PresenceComparison = 'isSet' | 'isNotSet'
export type Comparison = Condition['cmp']

/** The JSON pointer of a step further into the tree (RFC 6901). */
export const pointer = (parent: string, ...steps: readonly (string | number)[]): string =>
  steps.reduce<string>((path, step) => `${path}/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`, parent)

/** One leaf of a tree and where it stands. */
export interface PlacedCondition {
  readonly condition: Condition
  /** JSON pointer to the leaf. */
  readonly path: string
  /** It stands under an odd number of `not`. */
  readonly underNot: boolean
}

/** The leaves, in the order in which they are written. */
export function conditionsOf(tree: ConditionTree, path = '', underNot = false): PlacedCondition[] {
  switch (tree.op) {
    case 'cond':
      return [{ condition: tree, path, underNot }]
    case 'not':
      return conditionsOf(tree.item, pointer(path, 'item'), !underNot)
    default:
      return tree.items.flatMap((item, index) => conditionsOf(item, pointer(path, 'items', index), underNot))
  }
}

/**
 * The tree with each leaf replaced by what `change` makes of it; null takes the leaf away. A group that loses
 * all its items and a `not` that loses its item go too: null when nothing is left. What the tree then selects
 * may be more or less than before, so whoever removes something shows the new audience first.
 */
export function mapConditions(
  tree: ConditionTree,
  change: (condition: Condition, path: string) => ConditionTree | null,
  path = '',
): ConditionTree | null {
  switch (tree.op) {
    case 'cond':
      return change(tree, path)
    case 'not': {
      const item = mapConditions(tree.item, change, pointer(path, 'item'))
      return item === null ? null : { op: 'not', item }
    }
    default: {
      const items = tree.items
        .map((item, index) => mapConditions(item, change, pointer(path, 'items', index)))
        .filter((item) => item !== null)
      return items.length === 0 ? null : { op: tree.op, items }
    }
  }
}
