import type { Evaluator } from '../evaluator.ts'
import { employeeValuesOrphaned } from './employee-values-orphaned.ts'
import { modelStructure } from './model-structure.ts'
import { personaAttributeInUse } from './persona-attribute-in-use.ts'
import { personaValueInUse } from './persona-value-in-use.ts'
import { resolutionTarget } from './resolution-target.ts'

/** The organisation's own evaluators. */
export const EVALUATORS: readonly Evaluator[] = [
  employeeValuesOrphaned,
  modelStructure,
  personaAttributeInUse,
  personaValueInUse,
  resolutionTarget,
]
