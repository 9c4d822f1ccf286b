import { type ConditionProblem, ConditionsInvalidError } from './problem.ts'
import { type Condition, conditionsOf, type ConditionTree, type PlacedCondition, pointer } from './tree.ts'

/** What kind of thing a field holds; a CHOICE holds ids out of a closed list. */
export type FieldType = 'TEXT' | 'NUMBER' | 'BOOLEAN' | 'DATE' | 'CHOICE'

/** A field as a tree needs to know it. Whether it holds one thing or several makes no difference to a tree. */
export interface Field {
  readonly type: FieldType
  /** CHOICE only: whether it has this value. */
  hasValue(value: string): boolean
  /** CHOICE only: the values themselves and all below them, without doubles. */
  withDescendants(values: readonly string[]): readonly string[]
}

/** The world in which a tree is evaluated. */
export interface Fields {
  field(id: string): Field | undefined
}

/** Everything that keeps the tree from being evaluated in this world, in the order in which it is written. */
export const problemsOf = (tree: ConditionTree, fields: Fields): ConditionProblem[] =>
  conditionsOf(tree).flatMap((placed) => problemsOfCondition(placed, fields))

/** @throws ConditionsInvalidError naming every problem: a tree is valid as a whole or not at all. */
export function mustBeEvaluable(tree: ConditionTree, fields: Fields): void {
  const problems = problemsOf(tree, fields)
  if (problems.length > 0) throw new ConditionsInvalidError(problems)
}

function problemsOfCondition({ condition, path }: PlacedCondition, fields: Fields): ConditionProblem[] {
  const field = fields.field(condition.field)
  if (field === undefined) {
    const message = `The field "${condition.field}" does not exist.`
    return [{ path: pointer(path, 'field'), code: 'unknown_field', message }]
  }
  if (!COMPARISONS[field.type].includes(condition.cmp)) {
    const message = `A ${field.type} field cannot be compared with "${condition.cmp}".`
    return [{ path: pointer(path, 'cmp'), code: 'comparison_not_applicable', message }]
  }
  if ('values' in condition) {
    return condition.values.flatMap((value, index): ConditionProblem[] =>
      field.hasValue(value)
        ? []
        : [
            {
              path: pointer(path, 'values', index),
              code: 'unknown_value',
              message: `The value "${value}" does not exist in this field.`,
            },
          ],
    )
  }
  if ('literal' in condition && !literalFits(field.type, condition)) {
    const message = `A ${field.type} field needs ${LITERALS[field.type]}.`
    return [{ path: pointer(path, 'literal'), code: 'literal_not_applicable', message }]
  }
  return []
}

const COMPARISONS: Readonly<Record<FieldType, readonly Condition['cmp'][]>> = {
  TEXT: ['isSet', 'isNotSet', 'eq', 'contains'],
  NUMBER: ['isSet', 'isNotSet', 'eq', 'lt', 'gt', 'between'],
  BOOLEAN: ['isSet', 'isNotSet', 'eq'],
  DATE: ['isSet', 'isNotSet', 'eq', 'lt', 'gt', 'between'],
  CHOICE: ['isSet', 'isNotSet', 'in', 'notIn', 'descendantOf'],
}

const LITERALS: Readonly<Record<FieldType, string>> = {
  TEXT: 'a text',
  NUMBER: 'a number',
  BOOLEAN: 'true or false',
  DATE: 'a date such as "2026-11-30"',
  CHOICE: 'values',
}

function literalFits(type: FieldType, condition: Condition & { literal: unknown }): boolean {
  const literals: readonly unknown[] = condition.cmp === 'between' ? condition.literal : [condition.literal]
  return literals.every((literal) => FITS[type](literal))
}

const FITS: Readonly<Record<FieldType, (literal: unknown) => boolean>> = {
  TEXT: (literal) => typeof literal === 'string',
  NUMBER: (literal) => typeof literal === 'number',
  BOOLEAN: (literal) => typeof literal === 'boolean',
  DATE: (literal) => typeof literal === 'string' && isDate(literal),
  CHOICE: () => false,
}

/** `2026-11-30`, and a day that the calendar has. Such texts compare as the days they mean. */
export function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || text.startsWith('0000')) return false
  const day = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text)
}
