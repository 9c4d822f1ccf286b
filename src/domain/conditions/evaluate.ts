import { type Fields, mustBeEvaluable } from './fields.ts'
import type { Condition, ConditionTree } from './tree.ts'

/** One thing that a field holds; dates as `2026-11-30`, choices by their id. */
export type Held = string | number | boolean

/** What a field holds: nothing, one thing or several. */
export type Holds = (field: string) => readonly Held[]

/**
 * The tree as a function. Two-valued: a field that holds nothing satisfies no comparison but `isNotSet` and
 * `notIn`, which is exactly "not in". Of a field that holds several things one is enough.
 * Must agree with `selectionSql`; a property test compares the two.
 * @throws ConditionsInvalidError when any part of the tree cannot be evaluated.
 */
export function predicateOf(tree: ConditionTree, fields: Fields): (holds: Holds) => boolean {
  mustBeEvaluable(tree, fields)
  return build(tree, fields)
}

function build(tree: ConditionTree, fields: Fields): (holds: Holds) => boolean {
  switch (tree.op) {
    case 'not': {
      const item = build(tree.item, fields)
      return (holds) => !item(holds)
    }
    case 'and': {
      const items = tree.items.map((item) => build(item, fields))
      return (holds) => items.every((item) => item(holds))
    }
    case 'or': {
      const items = tree.items.map((item) => build(item, fields))
      return (holds) => items.some((item) => item(holds))
    }
    default: {
      const test = testOf(tree, fields)
      const negated = isNegated(tree)
      return (holds) => holds(tree.field).some(test) !== negated
    }
  }
}

/** The two comparisons that say the opposite of another one: nothing held may satisfy their test. */
export const isNegated = (condition: Condition): condition is Negated =>
  condition.cmp === 'notIn' || condition.cmp === 'isNotSet'

export type Negated = Condition & { readonly cmp: 'notIn' | 'isNotSet' }

function testOf(condition: Condition, fields: Fields): (held: Held) => boolean {
  switch (condition.cmp) {
    case 'isSet':
    case 'isNotSet':
      return () => true
    case 'in':
    case 'notIn':
      return isOneOf(condition.values)
    case 'descendantOf':
      return isOneOf(fields.field(condition.field)?.withDescendants(condition.values) ?? [])
    case 'eq':
      return (held) => held === condition.literal
    case 'lt':
      return (held) => held < condition.literal
    case 'gt':
      return (held) => held > condition.literal
    case 'contains':
      return (held) => typeof held === 'string' && held.includes(condition.literal)
    case 'between': {
      const [low, high] = condition.literal
      return (held) => held >= low && held <= high
    }
  }
}

function isOneOf(values: readonly string[]): (held: Held) => boolean {
  const set = new Set<Held>(values)
  return (held) => set.has(held)
}
