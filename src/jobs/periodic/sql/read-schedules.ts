import { statement } from '../../../database/index.ts'
import type { ScheduleRow, ScheduleRun } from '../read.ts'

export interface ReadRow extends Omit<ScheduleRow, 'lastRun'> {
  readonly lastSlot: Date | null
  readonly lastFiredAt: Date | null
  readonly lastOutcome: ScheduleRun['outcome'] | null
  readonly lastJobId: string | null
  readonly lastRunBy: string | null
}

/** The newest slot of each is one step down the primary key. */
export const READ_SCHEDULES = statement<ReadRow>(
  'jobs.read_schedules',
  `select s.name, s.every_ms as "everyMs", s.cron, s.time_zone as "timeZone", s.dst_gap as "dstGap",
    s.dst_overlap as "dstOverlap", s.missed, s.missed_limit as "missedLimit", s.overlap, s.job_type as "jobType",
    s.next_slot as "nextSlot", s.paused_at as "pausedAt", s.paused_by as "pausedBy", s.paused_reason as "pausedReason",
    last.slot as "lastSlot", last.fired_at as "lastFiredAt", last.outcome as "lastOutcome",
    last.job_id::text as "lastJobId", last.run_by as "lastRunBy", clock_timestamp() as "asOf",
    s.job_type is not null and alive.workers > 0 and s.name <> all(alive.schedules) as retired
  from job_schedule s
  cross join (
    select count(*) as workers, coalesce(array_agg(name) filter (where name is not null), '{}') as schedules
    from job_worker w left join lateral unnest(w.schedules) as name on true
    where lease_until > clock_timestamp() and schedules <> '{}'
  ) alive
  left join lateral (
    select slot, fired_at, outcome, job_id, run_by from job_slot where schedule = s.name order by slot desc limit 1
  ) last on true
  order by s.name`,
)
