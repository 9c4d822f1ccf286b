import { statement } from '../../database/index.ts'

/** How an attempt ended, as `SETTLE` takes it; what becomes of the job is decided from the job's own row. */
export interface EndingRow {
  readonly id: string
  readonly claimEpoch: number
  /** RETRY: failed, may be tried again. BACK: no attempt spent. LOST: its worker died. */
  readonly kind: 'SUCCEEDED' | 'CANCELLED' | 'FAILED' | 'RETRY' | 'BACK' | 'LOST'
  /** Wait before the next attempt; null for the policy's. */
  readonly delayMs: number | null
  readonly failureClass: string | null
  readonly code: string | null
  readonly message: string | null
  readonly stack: string | null
  readonly reason: string | null
  readonly output: Readonly<Record<string, unknown>> | null
  readonly ranMs: number
}

export interface SettledRow {
  readonly id: string
  readonly tenantId: string
  readonly type: string
  readonly attempt: number
  readonly maxAttempts: number
  readonly correlationId: string
  readonly status: 'SUCCEEDED' | 'CANCELLED' | 'FAILED' | 'RETRY_SCHEDULED' | 'SCHEDULED'
  readonly due: Date | null
  readonly failureClass: string | null
  readonly code: string | null
  readonly message: string | null
  readonly reason: string | null
  readonly actor: string
  readonly payload: unknown
  readonly payloadVersion: number
}

/**
 * Ends attempts. $1 endings as JSON (`EndingRow`). Answers with the jobs whose claim still stood; for the others
 * nothing is written.
 *
 * Everything the decision needs is on the job's row and its policy's, so that it does not depend on which
 * process, with which release, makes it (pain 14). What the policy said is the attempt's reason in the history
 * (`policy.delay`, `policy.attempts_used` …), unless it has one of its own. `skip locked`, because one row held by somebody else must not
 * keep a whole batch waiting; the caller asks with `STILL_HELD` and tries again.
 */
export const SETTLE = statement<SettledRow>(
  'jobs.settle',
  settling(`select e.*, ${jobColumns()}
    from jsonb_to_recordset($1::jsonb) as e(id uuid, "claimEpoch" integer, kind text, "delayMs" float8,
      "failureClass" text, code text, message text, stack text, reason text, output jsonb, "ranMs" float8)
    cross join lateral (
      select * from job where id = e.id and claim_epoch = e."claimEpoch" and status = 'PROCESSING'
      for update skip locked
    ) job
    join job_policy policy on policy.id = job.policy_id`),
)

/**
 * Ends the attempts of workers whose lease has lapsed or whose row is gone. $1 ids of jobs as JSON. The lease is
 * read again in the statement that writes, so a worker that came back, or a job that has just ended, keeps what
 * it has (pain 13).
 */
export const RESCUE = statement<SettledRow>(
  'jobs.rescue',
  settling(`select job.id, job.claim_epoch as "claimEpoch", 'LOST' as kind, null::float8 as "delayMs",
      'LOST' as "failureClass", 'job.worker_lost' as code,
      'The worker stopped while it was running this job.' as message, null::text as stack, null::text as reason,
      null::jsonb as output, extract(epoch from clock_timestamp() - job.claimed_at) * 1000 as "ranMs",
      ${jobColumns()}
    from job join job_policy policy on policy.id = job.policy_id
    where job.id = any(array(select value::uuid from jsonb_array_elements_text($1::jsonb)))
      and job.worker_id is not null
      and not exists (select from job_worker w where w.id = job.worker_id and w.lease_until > clock_timestamp())
    order by job.id for update of job skip locked`),
)

function jobColumns(): string {
  return `job.tenant_id, job.type, job.urgency, job.attempt, job.attempt_base, job.lost, job.policy_id,
    job.due as was_due, job.created_at, job.worker_id, job.cancel_requested_at, job.cancel_reason, job.cancel_actor, job.correlation_id,
    job.triggered_by, job.display_name, job.idempotency_key, job.payload, job.payload_version, job.batch_id,
    job.attempt_base + policy.max_attempts as max_attempts, policy.max_lost, policy.delays_ms, policy.jitter,
    policy.max_elapsed_ms, policy.rules`
}

function settling(ending: string): string {
  return `with ending as materialized (${ending}),
  judged as materialized (
    select *, clock_timestamp() as now, rules -> "failureClass" as rule, attempt - attempt_base as nth,
      kind = 'LOST' and lost >= max_lost as lost_too_often
    from ending
  ), decided as materialized (
    select *,
      case
        when kind in ('SUCCEEDED', 'CANCELLED', 'FAILED') then kind
        when cancel_requested_at is not null then 'CANCELLED'
        when kind = 'BACK' then 'SCHEDULED'
        when attempt >= max_attempts or nth >= (rule ->> 'maxAttempts')::int or lost_too_often then 'FAILED'
        else 'RETRY_SCHEDULED'
      end as decision, lost_too_often and cancel_requested_at is null as quarantined
    from judged
  ), planned as materialized (
    select *,
      case
        when decision = 'SCHEDULED' and "delayMs" is null then was_due
        when decision in ('SCHEDULED', 'RETRY_SCHEDULED') then now + interval '1 millisecond' * coalesce("delayMs",
          (1 - jitter * random()) * coalesce(
            (rule -> 'delaysMs' ->> least(nth, jsonb_array_length(rule -> 'delaysMs')) - 1)::float8,
            delays_ms[least(nth, cardinality(delays_ms))]))
      end as planned_due
    from decided
  ), limited as materialized (
    select *,
      -- Only a policy with a longest time looks for the begin of the window's first attempt.
      case when decision = 'RETRY_SCHEDULED' and max_elapsed_ms is not null
        then planned_due > interval '1 millisecond' * max_elapsed_ms + least(
          now - interval '1 millisecond' * "ranMs",
          (select min(started_at) from job_event e
            where e.job_id = planned.id and e.attempt > attempt_base and e."to" <> 'SCHEDULED'))
        else false
      end as too_late
    from planned
  ), timed as materialized (
    select *,
      case when too_late then 'FAILED' else decision end as "to",
      case when not too_late then planned_due end as next_due,
      case when quarantined then 'job.quarantined' else code end as final_code,
      case when quarantined then 'Its workers died ' || lost + 1 || ' times while they ran this job, so it is not given '
        'to another. Find out why; an operator may then try it again, alone on its worker.' else message end
        as final_message,
      case when decision = 'CANCELLED' then coalesce(reason, cancel_reason) else reason end as why,
      case when decision = 'CANCELLED' then coalesce(cancel_actor, 'system') else 'system' end as actor,
      case
        when decision not in ('FAILED', 'RETRY_SCHEDULED') then null
        when kind = 'FAILED' then 'policy.permanent'
        when too_late then 'policy.max_elapsed'
        when quarantined then 'policy.lost_cap'
        when decision = 'FAILED' then 'policy.attempts_used'
        when "delayMs" is not null then 'policy.retry_after'
        else 'policy.delay'
      end as rule_applied
    from limited
  ), waiting as (
    update job set status = timed."to", due = timed.next_due, worker_id = null, claimed_at = null,
      attempt = job.attempt - (timed."to" = 'SCHEDULED')::int, lost = job.lost + (timed.kind = 'LOST')::int
    from timed where ${oneOf('timed')} and timed.next_due is not null
  ), over as (
    delete from job using timed where ${oneOf('timed')} and timed.next_due is null
  ), kept as (
    insert into job_finished (id, tenant_id, type, status, urgency, attempt, attempt_base, lost, claim_epoch, policy_id,
      created_at, finished_at, failure_class, code, message, reason, correlation_id, triggered_by, display_name,
      idempotency_key, payload, payload_version, batch_id, output)
    select id, tenant_id, type, "to", urgency, attempt, attempt_base, lost + (kind = 'LOST')::int, "claimEpoch",
      policy_id, created_at, now, "failureClass", final_code, final_message, why, correlation_id, triggered_by, display_name,
      idempotency_key, payload, payload_version, batch_id, output
    from timed where next_due is null
  ), logged as (
    insert into job_event (epoch, job_id, tenant_id, type, attempt, claim_epoch, "from", "to", failure_class, code,
      message, stack, reason, actor, worker_id, next_attempt_at, started_at, recorded_at, correlation_id)
    select (select event_log_current_epoch()), id, tenant_id, type, attempt, "claimEpoch", 'PROCESSING', "to",
      "failureClass", final_code, final_message, stack, coalesce(why, rule_applied), actor, worker_id, next_due,
      now - interval '1 millisecond' * "ranMs", now, correlation_id
    from timed
  )
  select id::text, tenant_id::text as "tenantId", type, attempt::int as attempt, max_attempts::int as "maxAttempts",
    correlation_id as "correlationId", "to" as status, next_due as due, "failureClass", final_code as code,
    final_message as message, why as reason,
    actor, payload, payload_version::int as "payloadVersion"
  from timed`
}

/** Joins `job` to a few rows through its key, whatever the planner thinks of the table; see `CLAIM`. */
function oneOf(rows: string): string {
  return `job.id = ${rows}.id and job.id = any(array(select id from ${rows}))`
}
