import type { TestDatabase } from '../../harness/database.ts'
import { TENANT } from '../support.ts'

/** A week of its own for each run: what failed in it stays, and no partition can be made over that. */
let weeks = 0

/** What retention finds: jobs of a week long ago, one of them failed, a key of each, and a firing of a schedule. */
export async function arrangeOld({ pool }: TestDatabase, run: string): Promise<void> {
  const { rows } = await pool.query(
    `select 'job_finished_' || to_char(week, 'IYYY"w"IW') as name, week::text, (week + interval '1 week')::text as next
     from (select timestamp '1990-01-01' + $1 * interval '1 week' as week) w`,
    [weeks++],
  )
  const [{ name, week, next }] = rows as [{ name: string; week: string; next: string }]
  await pool.query(`create table ${name} partition of job_finished for values from ('${week}Z') to ('${next}Z')`)
  await pool.query(
    `with old as (
       insert into job_finished (id, tenant_id, type, status, urgency, attempt, lost, claim_epoch, policy_id, created_at,
         finished_at, correlation_id, triggered_by, display_name, payload)
       select gen_random_uuid(), $2::uuid, 'kill.old', status, 0, 1, 0, 1, 0, $3, $3, $1, 't', 'd', '{}'
       from unnest(array['SUCCEEDED', 'CANCELLED', 'FAILED', 'SUCCEEDED']) status
       returning id, status
     ), ended as (
       insert into job_event (epoch, job_id, tenant_id, type, attempt, claim_epoch, "from", "to", actor, correlation_id)
       select event_log_current_epoch(), id, $2, 'kill.old', 1, 1, 'PROCESSING', status, 'system', $1 from old
     ), recurs as (
       insert into job_schedule (name, every_ms, job_type) values ($1, 1000, 'kill.old')
     )
     insert into job_key (tenant_id, type, key, job_id, created_at) select $2, 'kill.old', id::text, id, $3 from old`,
    [of(run), TENANT, `${week}Z`],
  )
  await pool.query('insert into job_slot (schedule, slot, job_id) select $1, $2, gen_random_uuid()', [
    of(run),
    `${week}Z`,
  ])
}

/** What is wrong after retention: all of it goes but the job that failed, with its key. */
export async function stillThere({ pool }: TestDatabase, run: string): Promise<string[]> {
  const { rows } = await pool.query<{ there: string }>(
    `select concat_ws(' ', (select string_agg(status || ' in ' || tableoid::regclass, ', ')
         from job_finished where correlation_id = $1),
       (select count(*) from job_key k where type = 'kill.old'
          and not exists (select from job_finished f where f.id = k.job_id)) || ' keys without a job,',
       (select count(*) from job_key k join job_finished f on f.id = k.job_id where f.correlation_id = $1) || ' with,',
       (select count(*) from job_slot where schedule = $1) || ' slots') as there`,
    [of(run)],
  )
  const { there } = rows[0]!
  return there === 'FAILED in job_finished_default 0 keys without a job, 1 with, 0 slots' ? [] : [`left is ${there}`]
}

/** Nothing that the invariants of the run's own jobs look at. */
const of = (run: string): string => `old.${run}`
