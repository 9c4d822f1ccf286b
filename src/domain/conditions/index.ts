export { predicateOf, type Held, type Holds } from './evaluate.ts'
export { isDate, problemsOf, type Field, type Fields, type FieldType } from './fields.ts'
export { LIMITS, parseConditions } from './parse.ts'
export { ConditionsInvalidError, sentenceOf, type ConditionProblem, type ConditionProblemCode } from './problem.ts'
export { referencesOf, type ConditionReference } from './references.ts'
export { Parameters, selectionSql, type StoredFields } from './sql.ts'
export {
  conditionsOf,
  mapConditions,
  pointer,
  type ChoiceComparison,
  type Comparison,
  type Condition,
  type ConditionTree,
  type PlacedCondition,
  type PresenceComparison,
} from './tree.ts'
