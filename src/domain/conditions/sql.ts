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

/** How a domain stores what its fields hold: one row per thing held, of one of the things to select. */
export interface StoredFields {
  /** A query of the ids (`id`) of all things there are. */
  readonly everything: string
  /**
   * A query of the ids of those that hold something of the field that satisfies `test` (null: anything at all). An
   * id may come twice. `test` reads the column that `column` names.
   */
  holding(field: string, test: string | null, parameters: Parameters): string
  /** The column of a stored row for this type; `text`, `numeric`, `boolean`, `date` and `uuid`. */
  readonly column: Readonly<Record<FieldType, string>>
}

/**
 * The tree as a query of the ids of all things that satisfy it, each once; every value a parameter. Selects what
 * `predicateOf` is true for.
 *
 * A condition is a set of ids, and a group an operation on sets, because then no plan depends on statistics: each
 * set is one walk through an index, each operation one pass through a hash. With a correlated EXISTS per condition
 * PostgreSQL joins, and right after an import, when it believes that there is one row, it joins in nested loops: 3 s
 * for one negated condition over 1,470 people. Milliseconds for 100,000 people, in memory, without and with
 * statistics (one condition · three under "and" · one negated · four nested · six under "and"):
 *
 *   sets of ids                             4 ·  33 ·  45 ·  41 ·  132     4 ·  38 ·  56 ·  47 · 120
 *   correlated EXISTS                       minutes                      21 · 116 ·  31 ·  72 · 596
 *   scalar subquery per person and test   367 · 729 · 230 · 744 · 1224   305 · 577 · 213 · 717 · 1445
 *   one pass, a bit per condition          17 ·  64 · 114 ·  62 ·  398    14 ·  63 · 152 ·  53 ·  223
 *
 * @throws ConditionsInvalidError when any part of the tree cannot be evaluated.
 */
export function selectionSql(
  tree: ConditionTree,
  fields: Fields,
  stored: StoredFields,
  parameters: Parameters,
): string {
  mustBeEvaluable(tree, fields)
  const whole = unwrapped(tree)
  // Each operation on sets leaves an id once; a lone condition may find it twice.
  return whole.op === 'cond' ? `select distinct id from (${select(whole)}) selected` : select(whole)

  function select(node: ConditionTree): string {
    const excluded = complement(node)
    if (excluded !== null) return without(stored.everything, [excluded])
    switch (node.op) {
      case 'cond':
        return stored.holding(node.field, testOf(node), parameters)
      case 'or':
        return joined(node.items, 'union')
      case 'and': {
        const within = node.items.filter((item) => complement(item) === null)
        const kept = within.length === 0 ? stored.everything : joined(within, 'intersect')
        return without(
          kept,
          node.items.map(complement).filter((item) => item !== null),
        )
      }
      case 'not':
        throw new Error('A "not" always has something that it leaves out.')
    }
  }

  function joined(items: readonly ConditionTree[], operation: 'union' | 'intersect'): string {
    return items.map((item) => `(${select(item)})`).join(` ${operation} `)
  }

  function without(query: string, items: readonly ConditionTree[]): string {
    return items.reduce((left, item) => `(${left}) except (${select(item)})`, query)
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

/** A group of one says what its item says. */
function unwrapped(node: ConditionTree): ConditionTree {
  const [first, ...others] = node.op === 'and' || node.op === 'or' ? node.items : []
  return first === undefined || others.length > 0 ? node : unwrapped(first)
}

/** What the node leaves out, when that is how it is said; null when it says what it takes in. */
function complement(node: ConditionTree): ConditionTree | null {
  if (node.op === 'not') return node.item
  return node.op === 'cond' && isNegated(node) ? ({ ...node, cmp: OPPOSITE[node.cmp] } as Condition) : null
}

const OPPOSITE = { notIn: 'in', isNotSet: 'isSet' } as const

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
