import { statement } from '../../database/index.ts'

/**
 * The common ending, as cheap as it gets: $1 ids, $2 claim epochs, $3 milliseconds run. Answers with the ids whose
 * claim still stood.
 *
 * A special case of `SETTLE` for jobs that succeeded, left no output and whose type wants no `onOutcome`: no
 * JSON to parse, no policy to join, nothing to decide. See docs/jobs.md for what it is worth.
 *
 * All rows are found by one search of the key: 6.5 ms for 500 jobs where a search for each took 7.1. A row under another
 * claim is locked too, for as long as the statement takes; that happens to a worker that has lost its lease.
 */
export const SETTLE_SUCCEEDED = statement<{ readonly id: string }>(
  'jobs.settle_succeeded',
  `with held as materialized (
    select id, claim_epoch from job where id = any($1::uuid[]) and status = 'PROCESSING' for update skip locked
  ), mine as materialized (
    select id, ended.ran_ms, clock_timestamp() as now
    from unnest($1::uuid[], $2::integer[], $3::integer[]) as ended(id, claim_epoch, ran_ms)
    join held using (id, claim_epoch)
  ), gone as (
    delete from job where id = any(array(select id from mine)) returning *
  ), over as materialized (
    select gone.*, mine.ran_ms, mine.now from gone join mine using (id)
  ), kept as (
    insert into job_finished (id, tenant_id, type, status, urgency, attempt, attempt_base, lost, claim_epoch, policy_id,
      created_at, finished_at, correlation_id, triggered_by, display_name, idempotency_key, payload, payload_version,
      batch_id)
    select id, tenant_id, type, 'SUCCEEDED', urgency, attempt, attempt_base, lost, claim_epoch, policy_id,
      created_at, now, correlation_id, triggered_by, display_name, idempotency_key, payload, payload_version,
      batch_id
    from over
  ), logged as (
    insert into job_event (epoch, job_id, tenant_id, type, attempt, claim_epoch, "from", "to", actor, worker_id,
      started_at, recorded_at, correlation_id)
    select (select event_log_current_epoch()), id, tenant_id, type, attempt, claim_epoch, 'PROCESSING', 'SUCCEEDED',
      'system', worker_id, now - interval '1 millisecond' * ran_ms, now, correlation_id
    from over
  )
  select id from over`,
)
