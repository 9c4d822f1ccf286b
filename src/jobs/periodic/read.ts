import type { Queryable } from '../../database/index.ts'
import type { MissedPolicy, OverlapPolicy, ScheduleTiming } from './schedule.ts'
import { READ_SCHEDULES } from './sql/read-schedules.ts'

/** A schedule as operators see it. */
export interface ScheduleRow extends ScheduleTiming {
  readonly name: string
  readonly missed: MissedPolicy
  readonly missedLimit: number
  readonly overlap: OverlapPolicy
  /** Type of the job that a firing enqueues; null: done on the spot by the engine that fires it, cannot be paused. */
  readonly jobType: string | null
  /** When it fires next, whether paused or not; null when it never does again, and for what is done on the spot. */
  readonly nextSlot: Date | null
  readonly pausedAt: Date | null
  readonly pausedBy: string | null
  readonly pausedReason: string | null
  readonly lastRun: ScheduleRun | null
  /** Workers are alive and none of them declares it: a release has taken it out, and it fires no more. */
  readonly retired: boolean
  /** The database's clock when this was read: what `nextFirings` counts from, and whether `nextSlot` is overdue. */
  readonly asOf: Date
}

/** One firing. */
export interface ScheduleRun {
  readonly slot: Date
  readonly firedAt: Date
  /** OVERLAP: an earlier run was still going on. MISSED: nobody fired then, and the policy does not make up for it. */
  readonly outcome: 'FIRED' | 'OVERLAP' | 'MISSED'
  /** Null unless fired. */
  readonly jobId: string | null
  /** The operator who ran it by hand; null when the clock did. */
  readonly runBy: string | null
}

/** All schedules that were ever declared, by name. */
export async function readSchedules(on: Queryable): Promise<ScheduleRow[]> {
  const rows = await on.run(READ_SCHEDULES, [])
  return rows.map(({ lastSlot, lastFiredAt, lastOutcome, lastJobId, lastRunBy, ...schedule }) => ({
    ...schedule,
    lastRun:
      lastSlot === null
        ? null
        : { slot: lastSlot, firedAt: lastFiredAt!, outcome: lastOutcome!, jobId: lastJobId, runBy: lastRunBy },
  }))
}
