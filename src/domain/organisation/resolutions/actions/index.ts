import type { AnyResolutionAction } from '../action.ts'
import { employeeArchiveValues } from './employee-archive-values.ts'
import { employeeClearValues } from './employee-clear-values.ts'
import { employeeMigrateValues } from './employee-migrate-values.ts'
import { personaArchive } from './persona-archive.ts'
import { personaRemoveCondition } from './persona-remove-condition.ts'
import { personaRemoveValue } from './persona-remove-value.ts'
import { personaReplaceValue } from './persona-replace-value.ts'
import { personaUpdateFilterValue } from './persona-update-filter-value.ts'

/** The actions that the organisation's own evaluators propose. */
export const ACTIONS: readonly AnyResolutionAction[] = [
  employeeArchiveValues,
  employeeClearValues,
  employeeMigrateValues,
  personaArchive,
  personaRemoveCondition,
  personaRemoveValue,
  personaReplaceValue,
  personaUpdateFilterValue,
]
