import { statement } from '../../../database/index.ts'

/** The clock that a first slot is counted from. */
export const NOW = statement<{ now: Date }>('jobs.schedule_now', 'select clock_timestamp() as now')

/**
 * Declares schedules ($1 as JSON), whichever process comes first. One statement without a look beforehand: the second
 * of two processes waits for the first one's row, finds it equal and leaves it alone, next slot included. What an
 * operator did (the pause) is not declared and stays. A changed timing begins anew; any other change keeps the next
 * slot, so that what was missed meanwhile is still made up for. In the order of names, lest two starts deadlock.
 */
export const DECLARE_SCHEDULES = statement<never>(
  'jobs.declare_schedules',
  `insert into job_schedule as s (name, every_ms, cron, time_zone, dst_gap, dst_overlap, missed, missed_limit, overlap,
    job_type, payload, next_slot)
  select name, "everyMs", cron, "timeZone", "dstGap", "dstOverlap", missed, "missedLimit", overlap, "jobType", payload,
    "nextSlot"
  from jsonb_to_recordset($1::jsonb) as d(name text, "everyMs" integer, cron text, "timeZone" text, "dstGap" text,
    "dstOverlap" text, missed text, "missedLimit" integer, overlap text, "jobType" text, payload jsonb,
    "nextSlot" timestamptz)
  order by name
  on conflict (name) do update set
    every_ms = excluded.every_ms, cron = excluded.cron, time_zone = excluded.time_zone, dst_gap = excluded.dst_gap,
    dst_overlap = excluded.dst_overlap, missed = excluded.missed, missed_limit = excluded.missed_limit,
    overlap = excluded.overlap, job_type = excluded.job_type, payload = excluded.payload,
    next_slot = case
      when (s.every_ms, s.cron, s.time_zone, s.dst_gap, s.dst_overlap, s.job_type is null)
        is not distinct from (excluded.every_ms, excluded.cron, excluded.time_zone, excluded.dst_gap,
          excluded.dst_overlap, excluded.job_type is null)
      then s.next_slot else excluded.next_slot end,
    reckoned_at = greatest(s.reckoned_at, clock_timestamp())
  where (s.every_ms, s.cron, s.time_zone, s.dst_gap, s.dst_overlap, s.missed, s.missed_limit, s.overlap, s.job_type,
      s.payload)
    is distinct from (excluded.every_ms, excluded.cron, excluded.time_zone, excluded.dst_gap, excluded.dst_overlap,
      excluded.missed, excluded.missed_limit, excluded.overlap, excluded.job_type, excluded.payload)`,
)

/** The worker $1 fires the schedules $2. Once a look, so it writes only what is new. */
export const DECLARES = statement<never>(
  'jobs.worker_declares',
  'update job_worker set schedules = $2::text[] where id = $1::uuid and schedules <> $2::text[]',
)
