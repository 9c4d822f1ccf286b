import {
  ConditionsInvalidError,
  type ConditionTree,
  mapConditions,
  parseConditions,
  problemsOf,
} from '../../conditions/index.ts'
import { canonicalId } from '../ids.ts'
import { fieldsOf, type ModelSnapshot } from '../model/model.ts'
import { PersonaFilterInvalidError } from './errors.ts'

/**
 * A filter from outside, with ids in the one way of writing and everything it names found in the model.
 * @throws PersonaFilterInvalidError
 */
export function readFilter(json: unknown, model: ModelSnapshot): ConditionTree {
  const filter = parse(json)
  const problems = problemsOf(filter, fieldsOf(model))
  if (problems.length > 0) throw new PersonaFilterInvalidError(problems)
  return filter
}

function parse(json: unknown): ConditionTree {
  try {
    return canonical(parseConditions(json))
  } catch (error) {
    throw error instanceof ConditionsInvalidError ? new PersonaFilterInvalidError(error.problems) : error
  }
}

// Upper-case ids name the same thing, but would stand in the reference index as another one (C08).
const canonical = (filter: ConditionTree): ConditionTree =>
  mapConditions(filter, (condition) => {
    const field = canonicalId(condition.field) ?? condition.field
    return 'values' in condition
      ? { ...condition, field, values: condition.values.map((value) => canonicalId(value) ?? value) }
      : { ...condition, field }
  }) as ConditionTree
