import type { SqlValue } from '../../database/index.ts'
import { isNegated } from './evaluate.ts'
import { type Fields, type FieldType, mustBeEvaluable } from './fields.ts'
import type { Condition, ConditionTree } from './tree.ts'

/** Collects the values of a statement; `add` answers with their `$n`. */
export class Parameters {
  readonly values: SqlValue[] = []
  readonly #first: number

  /** `first`: the number of the first parameter that is still free. */
  constructor(first: number) {
    this.#first = first
  }

  add(value: SqlValue): string {
    this.values.push(value)
    return `$${this.#first + this.values.length - 1}`
  }
}

/** How a domain stores what its fields hold: one row per thing held. */
export interface StoredFields {
  /**
   * SQL that is true when the row in question holds something of the field that satisfies `test` (null: anything
   * at all). `test` reads the column that `column` names.
   */
  holds(field: string, test: string | null, parameters: Parameters): string
  /** The column of a stored row for this type; `text`, `numeric`, `boolean`, `date` and `uuid`. */
  readonly column: Readonly<Record<FieldType, string>>
}

/**
 * The tree as one boolean SQL expression, every value a parameter. Says the same as `predicateOf`.
 * @throws ConditionsInvalidError when any part of the tree cannot be evaluated.
 */
export function conditionSql(
  tree: ConditionTree,
  fields: Fields,
  stored: StoredFields,
  parameters: Parameters,
): string {
  mustBeEvaluable(tree, fields)
  return build(tree)

  function build(node: ConditionTree): string {
    switch (node.op) {
      case 'not':
        return `not ${build(node.item)}`
      case 'and':
      case 'or':
        return `(${node.items.map(build).join(` ${node.op} `)})`
      default: {
        const holds = stored.holds(node.field, testOf(node), parameters)
        return isNegated(node) ? `not ${holds}` : holds
      }
    }
  }

  function testOf(condition: Condition): string | null {
    const field = fields.field(condition.field)
    if (field === undefined) throw new Error(`The field "${condition.field}" was there a moment ago.`)
    const column = stored.column[field.type]
    const literal = (value: string | number | boolean) => `${parameters.add(String(value))}::text::${TYPES[field.type]}`
    const oneOf = (values: readonly string[]) => `${column} = any(${parameters.add(arrayText(values))}::text::uuid[])`
    switch (condition.cmp) {
      case 'isSet':
      case 'isNotSet':
        return null
      case 'in':
      case 'notIn':
        return oneOf(condition.values)
      case 'descendantOf':
        return oneOf(field.withDescendants(condition.values))
      case 'eq':
        return `${column} = ${literal(condition.literal)}`
      case 'lt':
        return `${column} < ${literal(condition.literal)}`
      case 'gt':
        return `${column} > ${literal(condition.literal)}`
      case 'contains':
        return `position(${literal(condition.literal)} in ${column}) > 0`
      case 'between':
        return `${column} between ${literal(condition.literal[0])} and ${literal(condition.literal[1])}`
    }
  }
}

// An array as PostgreSQL writes it: the planner then sees the values and estimates how many rows they find.
const arrayText = (values: readonly string[]): string =>
  `{${values.map((value) => `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`).join(',')}}`

// Literals travel as text, so that a number is compared as the decimal that was written.
const TYPES: Readonly<Record<FieldType, string>> = {
  TEXT: 'text',
  NUMBER: 'numeric',
  BOOLEAN: 'boolean',
  DATE: 'date',
  CHOICE: 'uuid',
}
