import { statement } from '../../database/index.ts'

export interface CancelledRow {
  readonly id: string
  readonly queued: boolean
}

/**
 * Cancels what waits and marks what runs, in one statement. $1 ids as JSON, $2 tenant, $3 reason, $4 actor.
 *
 * Locks in id order before anything is decided, so that the answer is about the row as it is now: a job that was
 * claimed a moment ago is marked, one that has just ended is left out. A running job's row is only marked: its
 * worker sees the mark and aborts, and the end is whatever that worker manages to commit first (K8).
 */
export const CANCEL = statement<CancelledRow>(
  'jobs.cancel',
  `with wanted as materialized (
    select * from job
    where id = any(array(select value::uuid from jsonb_array_elements_text($1::jsonb))) and tenant_id = $2::uuid
    order by id for update
  ), queued as (
    delete from job using wanted
    where job.id = wanted.id and job.id = any(array(select id from wanted)) and wanted.worker_id is null
  ), kept as (
    insert into job_finished (id, tenant_id, type, status, urgency, attempt, attempt_base, lost, claim_epoch, policy_id,
      created_at, reason, correlation_id, triggered_by, display_name, idempotency_key, payload, payload_version, batch_id)
    select id, tenant_id, type, 'CANCELLED', urgency, attempt, attempt_base, lost, claim_epoch, policy_id,
      created_at, $3, correlation_id, triggered_by, display_name, idempotency_key, payload, payload_version, batch_id
    from wanted where worker_id is null
  ), logged as (
    insert into job_event (epoch, job_id, tenant_id, type, attempt, claim_epoch, "from", "to", reason, actor, correlation_id)
    select (select event_log_current_epoch()), id, tenant_id, type, attempt, claim_epoch, status, 'CANCELLED', $3, $4,
      correlation_id
    from wanted where worker_id is null
  ), running as (
    update job set cancel_requested_at = clock_timestamp(), cancel_reason = $3, cancel_actor = $4
    from wanted
    where job.id = wanted.id and job.id = any(array(select id from wanted)) and wanted.worker_id is not null
      and job.cancel_requested_at is null
  )
  select id::text, worker_id is null as queued from wanted`,
)
