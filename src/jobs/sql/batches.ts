import { statement } from '../../database/index.ts'
import type { JobStatus } from '../definition.ts'

/** $1 id, $2 tenant, $3 label, $4 correlation id, $5 triggered by. */
export const CREATE_BATCH = statement<never>(
  'jobs.create_batch',
  `insert into job_batch (id, tenant_id, label, correlation_id, triggered_by)
  values ($1::uuid, $2::uuid, $3, $4, $5)`,
)

export interface BatchRow {
  readonly batchId: string
  readonly tenantId: string
  readonly label: string
  readonly correlationId: string
  readonly triggeredBy: string
  readonly createdAt: Date
  readonly cancelledAt: Date | null
  readonly cancelledBy: string | null
  readonly cancelReason: string | null
}

export const BATCH_COLUMNS = `id::text as "batchId", tenant_id::text as "tenantId", label,
  correlation_id as "correlationId", triggered_by as "triggeredBy", created_at as "createdAt",
  cancelled_at as "cancelledAt", cancelled_by as "cancelledBy", cancel_reason as "cancelReason"`

export interface BatchCountRow {
  readonly batchId: string
  readonly status: JobStatus
  readonly jobs: number
}

/** How many jobs of these batches ($1 ids as JSON) stand in which status. One statement, so that a job that moves is counted once. */
export const COUNT_BATCHES = statement<BatchCountRow>(
  'jobs.count_batches',
  `with asked as materialized (select value::uuid as id from jsonb_array_elements_text($1::jsonb))
  select asked.id::text as "batchId", counted.status, counted.jobs::float8 as jobs
  from asked cross join lateral (
    select status, count(*) as jobs from job where batch_id = asked.id group by status
    union all
    select status, count(*) from job_finished where batch_id = asked.id group by status
  ) counted
  order by asked.id, counted.status`,
)

/**
 * Marks a batch ($1, of tenant $2 or, null, of whichever) as cancelled by $3 because of $4. Waits for who is putting
 * jobs into it. Answers with the batch; `now` says whether it was this statement that cancelled it.
 */
export const CANCEL_BATCH = statement<{ readonly tenantId: string; readonly now: boolean }>(
  'jobs.cancel_batch',
  `with found as materialized (
    select id, tenant_id, cancelled_at from job_batch
    where id = $1::uuid and ($2::uuid is null or tenant_id = $2::uuid) for update
  ), marked as (
    update job_batch set cancelled_at = clock_timestamp(), cancelled_by = $3, cancel_reason = $4
    from found where job_batch.id = found.id and found.cancelled_at is null
  )
  select tenant_id::text as "tenantId", cancelled_at is null as now from found`,
)

/** Jobs of a batch ($1) that wait or run, in id order, after $2, at most $3. */
export const LIVE_OF_BATCH = statement<{ readonly id: string }>(
  'jobs.live_of_batch',
  `select id::text from job where batch_id = $1::uuid and id > $2::uuid order by id limit $3::int`,
)
