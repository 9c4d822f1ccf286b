import { statement } from '../../database/index.ts'

/** Declares schedules. $1 as JSON (`name`, `everyMs`). */
export const DECLARE_SCHEDULES = statement<never>(
  'jobs.declare_schedules',
  `insert into job_schedule (name, every_ms)
  select name, "everyMs" from jsonb_to_recordset($1::jsonb) as s(name text, "everyMs" integer) order by name
  on conflict (name) do update set every_ms = excluded.every_ms where job_schedule.every_ms <> excluded.every_ms`,
)

export interface FiredRow {
  readonly schedule: string
  readonly slot: Date
}

/**
 * Fires what is due among the schedules $1, for the worker $2. The slot is the database's clock cut to the
 * interval, and its row is unique: whichever process asks first has it, no clock of a process matters, and slots
 * that were missed are one firing, since only the present one is ever asked for.
 */
export const FIRE = statement<FiredRow>(
  'jobs.fire',
  `insert into job_slot (schedule, slot, worker_id)
  select name, to_timestamp(floor(extract(epoch from clock_timestamp()) * 1000 / every_ms) * every_ms / 1000), $2::uuid
  from job_schedule where name = any($1::text[])
  order by name
  on conflict do nothing
  returning schedule, slot`,
)

/** $1 schedule, $2 slot, $3 what went wrong or null. */
export const FINISH_SLOT = statement<never>(
  'jobs.finish_slot',
  `update job_slot set finished_at = clock_timestamp(), problem = $3 where schedule = $1 and slot = $2`,
)

/** Slots older than a day prove nothing any more. */
export const FORGET_SLOTS = statement<never>(
  'jobs.forget_slots',
  `delete from job_slot where slot < now() - interval '1 day'`,
)
