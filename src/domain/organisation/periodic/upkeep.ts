import type { AnyJobDefinition, Schedule } from '../../../jobs/index.ts'
import { referenceRebuild, referenceRebuildNightly } from './reference-rebuild.ts'
import { resolutionReaper, resolutionReaperEveryMinute } from './resolution-reaper.ts'

/** What keeps the organisation's tables true to one another. */
export const organisationUpkeep: {
  readonly jobs: readonly AnyJobDefinition[]
  readonly schedules: readonly Schedule[]
} = {
  jobs: [referenceRebuild, resolutionReaper],
  schedules: [referenceRebuildNightly, resolutionReaperEveryMinute],
}
