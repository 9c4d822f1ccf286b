import type { JobDefinition } from '../definition.ts'
import type { AnyJobDefinition } from '../registry.ts'
import { scheduleProblems } from './schedule-problems.ts'

/** A local time that a change of clocks skips: run at the moment of the change, once, or not at all. */
export type DstGap = 'RUN_AFTER' | 'SKIP'

/** A local time that a change of clocks brings twice: run the first time only, or both times. */
export type DstOverlap = 'ONCE' | 'TWICE'

/** Slots that passed while nobody fired: none is made up for, the newest is, or the newest `missedLimit` are. */
export type MissedPolicy = 'SKIP' | 'RUN_LAST' | 'RUN_ALL'

/**
 * When an earlier run is not over yet. SKIP: a running one keeps the new one from starting; one that waits, to begin or
 * to be tried again, gives way to the new one (K6). ALLOW: both. CANCEL_OTHER: the earlier one is cancelled.
 */
export type OverlapPolicy = 'SKIP' | 'ALLOW' | 'CANCEL_OTHER'

/** When a schedule fires. Exactly one of `everyMs` and `cron` is set. */
export interface ScheduleTiming {
  /** Slots are the multiples of this since 1970 (UTC), in milliseconds. */
  readonly everyMs: number | null
  /** Five fields, or six with seconds first, in the local time of `timeZone`. */
  readonly cron: string | null
  /** IANA name. */
  readonly timeZone: string
  readonly dstGap: DstGap
  readonly dstOverlap: DstOverlap
}

/** One schedule, checked. Its row in job_schedule is the truth; this is what a release declares. */
export interface Schedule extends ScheduleTiming {
  readonly name: string
  readonly job: AnyJobDefinition
  /** As JSON text. */
  readonly payload: string
  readonly missed: MissedPolicy
  readonly missedLimit: number
  readonly overlap: OverlapPolicy
}

export interface ScheduleOptions<Payload> {
  /** Unique and dotted, as a job type is; mostly the type itself. */
  readonly name: string
  /** What each firing enqueues, for the installation: no tenant. */
  readonly job: JobDefinition<Payload>
  readonly payload: Payload
  /** At least 1,000. Give this or `cron`. */
  readonly everyMs?: number
  readonly cron?: string
  /** Default UTC. */
  readonly timeZone?: string
  /** Default RUN_AFTER. Neither rule applies when the hours are `*`: that counts elapsed time. */
  readonly dstGap?: DstGap
  /** Default ONCE. */
  readonly dstOverlap?: DstOverlap
  /** Default RUN_LAST: a run that finds its candidates anew makes up for all that were missed (J55). */
  readonly missed?: MissedPolicy
  /** Most that RUN_ALL makes up for, 1 to 100. */
  readonly missedLimit?: number
  /** Default SKIP. */
  readonly overlap?: OverlapPolicy
}

/** @throws Error that lists everything that is wrong, not only the first thing */
export function defineSchedule<Payload>(options: ScheduleOptions<Payload>): Schedule {
  const problems = scheduleProblems(options)
  if (problems.length > 0)
    throw new Error(
      `The schedule "${options.name}" cannot be used.\n${problems.map((problem) => `- ${problem}`).join('\n')}`,
    )
  return {
    name: options.name,
    job: options.job,
    payload: JSON.stringify(options.payload),
    everyMs: options.everyMs ?? null,
    cron: options.cron?.trim() ?? null,
    timeZone: options.timeZone ?? 'UTC',
    dstGap: options.dstGap ?? 'RUN_AFTER',
    dstOverlap: options.dstOverlap ?? 'ONCE',
    missed: options.missed ?? 'RUN_LAST',
    missedLimit: options.missedLimit ?? 1,
    overlap: options.overlap ?? 'SKIP',
  }
}
