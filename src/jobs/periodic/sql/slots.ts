import { statement } from '../../../database/index.ts'

/**
 * Writes slots of the schedule $1, given as JSON ($2: `slot`, `outcome`, `jobId`), for the worker or the operator ($3,
 * $4). Answers with the jobs of those that are new: whoever comes second has nothing to enqueue.
 */
export const WRITE_SLOTS = statement<{ slot: Date; jobId: string | null }>(
  'jobs.write_slots',
  `insert into job_slot (schedule, slot, outcome, job_id, worker_id, run_by, finished_at)
  select $1, slot, outcome, "jobId", $3::uuid, $4, case when "jobId" is null then clock_timestamp() end
  from jsonb_to_recordset($2::jsonb) as new(slot timestamptz, outcome text, "jobId" uuid)
  order by slot
  on conflict do nothing
  returning slot, job_id::text as "jobId"`,
)

/** Those of the slots $2 of the schedule $1 that have a row already: a clock that went back brings them again. */
export const TAKEN_SLOTS = statement<{ slot: Date }>(
  'jobs.taken_slots',
  'select slot from job_slot where schedule = $1 and slot = any($2::timestamptz[])',
)

export interface OpenRunRow {
  readonly jobId: string
  readonly status: string
  /** Locked by us; else somebody claims, runs or ends it at this very moment. */
  readonly ours: boolean
}

/**
 * The jobs of earlier firings of the schedule $1 that are not over, locked where nobody else has them: a handler in its
 * transaction holds its job's row for as long as that takes, and must not stop the schedules of everybody. Firings
 * whose job is over are closed, so that there are always few to look at.
 */
export const OPEN_RUNS = statement<OpenRunRow>(
  'jobs.open_runs',
  `with open as materialized (
    select job_id from job_slot where schedule = $1 and job_id is not null and finished_at is null
  ), alive as materialized (
    select id, status from job where id = any(array(select job_id from open))
  ), locked as materialized (
    select id, status from job where id = any(array(select id from alive)) order by id for update skip locked
  ), closed as (
    update job_slot s
    set finished_at = coalesce((select f.finished_at from job_finished f where f.id = s.job_id limit 1), clock_timestamp())
    where s.schedule = $1 and s.job_id is not null and s.finished_at is null
      and s.job_id <> all(array(select id from alive))
  )
  select alive.id::text as "jobId", coalesce(locked.status, alive.status) as status, locked.id is not null as ours
  from alive left join locked on locked.id = alive.id`,
)

/** Which firing the job $1 is, if it is one. */
export const SLOT_OF_JOB = statement<{ schedule: string; slot: Date }>(
  'jobs.slot_of_job',
  'select schedule, slot from job_slot where job_id = $1::uuid',
)
