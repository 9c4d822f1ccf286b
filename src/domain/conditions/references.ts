import { conditionsOf, type ConditionTree, pointer } from './tree.ts'

/** One place where a tree names a field or a value of a field. */
export interface ConditionReference {
  /** JSON pointer to the operand: `/items/0/field`, `/items/0/values/2`. */
  readonly path: string
  /** JSON pointer to the condition it stands in. */
  readonly conditionPath: string
  readonly field: string
  /** Null for the reference to the field itself. */
  readonly value: string | null
  /** True when the condition keeps people out: under an odd number of `not`, `notIn` counting as one. */
  readonly negated: boolean
}

/** Every reference of the tree, each condition's field first and then its values. */
export function referencesOf(tree: ConditionTree): ConditionReference[] {
  return conditionsOf(tree).flatMap(({ condition, path, underNot }) => {
    const common = { conditionPath: path, field: condition.field, negated: underNot !== (condition.cmp === 'notIn') }
    const values = 'values' in condition ? condition.values : []
    return [
      { ...common, path: pointer(path, 'field'), value: null },
      ...values.map((value, index) => ({ ...common, path: pointer(path, 'values', index), value })),
    ]
  })
}
