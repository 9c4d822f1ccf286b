import { statement } from '../../database/index.ts'

/** Jobs of a selection that one transaction can hold: one tenant, one type. */
export interface SelectedGroup {
  /** As the column has it. */
  readonly tenantId: string
  readonly type: string
  readonly jobIds: readonly string[]
}

export interface BulkActRow {
  readonly act: string
  /** As JSON text, in the form in which it was given. */
  readonly filter: string
  readonly jobs: number
  readonly more: boolean
  /** `SelectedGroup[]` as JSON text. */
  readonly groups: string
  /** The answer that was given, as JSON text; null while it has not come to its end. */
  readonly result: string | null
}

/** A bulk act ($1) and its result, if it came to its end. */
export const BULK_ACT = statement<BulkActRow>(
  'jobs.bulk_act',
  `select act, selection ->> 'filter' as filter, (selection ->> 'jobs')::int as jobs,
    (selection ->> 'more')::boolean as more, (selection -> 'groups')::text as groups, (
      select after::text from job_act done where done.part_of = $1::uuid and done.job_id is null
    ) as result
  from job_act where id = $1::uuid and selection is not null`,
)

/** Which jobs a bulk act ($1) has acted on. */
export const BULK_DONE_JOBS = statement<{ readonly jobId: string }>(
  'jobs.bulk_done_jobs',
  `select job_id::text as "jobId" from job_act where part_of = $1::uuid and job_id is not null and refusal is null`,
)

/** Until the transaction ends nobody else goes on with the bulk act $1. What it has come to is read after this. */
export const LOCK_BULK = statement<unknown>(
  'jobs.lock_bulk',
  'select from job_act where id = $1::uuid for no key update',
)

export interface BulkProgressRow {
  /** As in `BulkActRow`. */
  readonly result: string | null
  /** Which of the jobs asked for it has acted on. */
  readonly done: readonly string[]
}

/** How far a bulk act ($1) is, with some of its jobs ($2 ids as JSON). */
export const BULK_PROGRESS = statement<BulkProgressRow>(
  'jobs.bulk_progress',
  `select (select after::text from job_act where part_of = $1::uuid and job_id is null) as result,
    array(select job_id::text from job_act where part_of = $1::uuid
      and job_id = any((array(select jsonb_array_elements_text($2::jsonb)))::uuid[])) as done`,
)
