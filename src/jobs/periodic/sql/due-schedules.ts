import { statement } from '../../../database/index.ts'
import type { MissedPolicy, OverlapPolicy, ScheduleTiming } from '../schedule.ts'

// A next slot that was worked out in the future is one of a clock that has gone back since, and may be far away.
const CLOCK_WENT_BACK = `reckoned_at > clock_timestamp() + interval '1 minute'`

/** How long until the schedules $1 fire, those due first. Locks nothing: most looks find nothing to do. */
export const LOOK = statement<{ name: string; inMs: number }>(
  'jobs.look_at_schedules',
  `select name, case when ${CLOCK_WENT_BACK} then 0
    else extract(epoch from next_slot - clock_timestamp()) * 1000 end::float8 as "inMs"
  from job_schedule
  where name = any($1::text[]) and job_type = any($2::text[]) and paused_at is null and next_slot is not null
  order by next_slot`,
)

export interface LockedSchedule extends ScheduleTiming {
  readonly name: string
  readonly missed: MissedPolicy
  readonly missedLimit: number
  readonly overlap: OverlapPolicy
  readonly jobType: string
  readonly payload: unknown
  readonly nextSlot: Date
  /** The database's clock, under the lock. */
  readonly now: Date
}

const COLUMNS = `name, every_ms as "everyMs", cron, time_zone as "timeZone", dst_gap as "dstGap",
    dst_overlap as "dstOverlap", missed, missed_limit as "missedLimit", overlap, job_type as "jobType", payload,
    next_slot as "nextSlot", clock_timestamp() as now`

/**
 * Locks the schedule $1 if it is due, or its next slot is to be worked out anew, or answers with no row: it is paused,
 * somebody else fires it just now, or has (the condition is looked at again under the lock). Only a row whose job's type
 * is among $2, since a newer release may have given the schedule a job that this process does not know.
 */
export const LOCK_DUE = statement<LockedSchedule>(
  'jobs.lock_due_schedule',
  `select ${COLUMNS} from job_schedule
  where name = $1 and job_type = any($2::text[]) and paused_at is null
    and (next_slot <= clock_timestamp() or ${CLOCK_WENT_BACK})
  for update skip locked`,
)

/** Locks the schedule $1 for an operator, due or not; not what is done on the spot. */
export const LOCK_SCHEDULE = statement<LockedSchedule>(
  'jobs.lock_schedule',
  `select ${COLUMNS} from job_schedule where name = $1 and job_type is not null for update`,
)

/** The schedule $1 fires next at $2, which is after now; null: never again. */
export const MOVE_ON = statement<never>(
  'jobs.move_schedule_on',
  'update job_schedule set next_slot = $2::timestamptz, reckoned_at = clock_timestamp() where name = $1',
)
