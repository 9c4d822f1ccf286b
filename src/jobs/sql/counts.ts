import { statement } from '../../database/index.ts'
import type { JobStatus } from '../definition.ts'

export interface CountRow {
  readonly type: string
  readonly status: JobStatus
  readonly jobs: number
}

/**
 * Jobs per type and status, exactly, of one snapshot: those that live from the small table, those that are over from
 * the counts, and what ended since these were added up from the second log. $1 tenant or null, $2 types as JSON or null.
 *
 * Rejected: counting `job_finished` (4 s for ten million rows, and what people look at most); counters that every
 * ending updates (their rows are then the hottest of the database); a trigger on `job_finished` (per row, in the
 * common path).
 */
export const COUNT_JOBS = statement<CountRow>(
  'jobs.count',
  `with asked as materialized (
    select array(select jsonb_array_elements_text($2::text::jsonb)) as types
  ), counted as (
    select type, status, count(*) as jobs from job
    where ($1::uuid is null or tenant_id = $1::uuid)
      and ($2::text is null or type = any((select types from asked)::text[]))
    group by type, status
    union all
    select type, status, jobs from job_count
    where ($1::uuid is null or tenant_id = $1::uuid)
      and ($2::text is null or type = any((select types from asked)::text[]))
    union all
    select since.type, since.status, since.jobs
    from job_count_position place cross join lateral job_count_since(place.epoch, place.snapshot) since
    where ($1::uuid is null or since.tenant_id = $1::uuid)
      and ($2::text is null or since.type = any((select types from asked)::text[]))
  )
  select type, status, sum(jobs)::float8 as jobs from counted
  group by type, status having sum(jobs) <> 0 order by type, status`,
)

/** How many finished jobs a tenant has of these types (as JSON or null) in these statuses (as JSON). */
export const countFinishedOfTenant = (tenant: string, types: string, statuses: string): string =>
  `with counted as (
    select type, status, jobs from job_count where tenant_id = ${tenant}::uuid
    union all
    select since.type, since.status, since.jobs
    from job_count_position place cross join lateral job_count_since(place.epoch, place.snapshot) since
    where since.tenant_id = ${tenant}::uuid
  )
  select coalesce(sum(jobs), 0)::float8 as jobs from counted
  where (${types}::text is null or type = any((array(select jsonb_array_elements_text(${types}::text::jsonb)))))
    and status = any((array(select jsonb_array_elements_text(${statuses}::text::jsonb))))`

export const COUNT_FINISHED_OF_TENANT = statement<{ readonly jobs: number }>(
  'jobs.count_finished_of_tenant',
  countFinishedOfTenant('$1', '$2', '$3'),
)

/** See the function, in the migration `job_operating`. */
export const ROLL_UP_COUNTS = statement<never>('jobs.roll_up_counts', 'select from job_count_roll_up()')

/** Ranges of finished jobs that the bloom filters do not cover yet; answers with how many now are. */
export const SUMMARISE_FINISHED = statement<{ readonly ranges: number }>(
  'jobs.summarise_finished',
  'select job_finished_summarise() as ranges',
)
