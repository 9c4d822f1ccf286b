import { statement } from '../../../database/index.ts'

export interface FiredRow {
  readonly schedule: string
  readonly slot: Date
}

/**
 * Fires what is due among the schedules $1 that are done on the spot, for the worker $2. The slot is the database's
 * clock cut to the interval, and its row is unique: whichever process asks first has it, no clock of a process
 * matters, and slots that were missed are one firing, since only the present one is ever asked for. No pause is looked
 * at: nothing stops what keeps the queue itself going.
 */
export const FIRE = statement<FiredRow>(
  'jobs.fire',
  `insert into job_slot (schedule, slot, worker_id)
  select name, to_timestamp(floor(extract(epoch from clock_timestamp()) * 1000 / every_ms) * every_ms / 1000), $2::uuid
  from job_schedule where name = any($1::text[]) and job_type is null
  order by name
  on conflict do nothing
  returning schedule, slot`,
)

/** $1 schedule, $2 slot, $3 what went wrong or null, $4 the result as JSON or null. */
export const FINISH_SLOT = statement<never>(
  'jobs.finish_slot',
  `update job_slot set finished_at = clock_timestamp(), problem = $3, result = $4::jsonb
  where schedule = $1 and slot = $2`,
)
