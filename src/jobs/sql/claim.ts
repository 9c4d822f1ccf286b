import { statement } from '../../database/index.ts'

export interface ClaimedRow {
  readonly id: string
  readonly tenantId: string
  readonly type: string
  readonly urgency: number
  readonly attempt: number
  readonly claimEpoch: number
  /** The last attempt of its present window: the policy's, after those of earlier windows. */
  readonly maxAttempts: number
  readonly timeoutMs: number
  readonly correlationId: string
  readonly triggeredBy: string
  readonly payload: unknown
  readonly payloadVersion: number
  /** Milliseconds since 1970, of the database's clock. */
  readonly due: number
}

const CLAIMED_COLUMNS = `claimed.id, tenant_id as "tenantId", type, urgency, attempt, claim_epoch as "claimEpoch",
    attempt_base + max_attempts as "maxAttempts", timeout_ms as "timeoutMs", correlation_id as "correlationId",
    triggered_by as "triggeredBy", payload, payload_version as "payloadVersion",
    round(date_part('epoch', due) * 1000) as due`

/**
 * Takes up to $7 due jobs out of the given lanes, at most $6 from each. $1–$5 the lanes (type, newest version of its
 * payload that is known here, tenant, urgency, mark), $8 the worker.
 *
 * Each lane is one range of `job_waiting`. `mark` is the due time of the last job taken from it: finished jobs
 * leave dead index entries at its low end that a long-open snapshot keeps from being vacuumed, and without the
 * mark every claim walks over all of them (fact 6: 2,969 buffers instead of 118). Jobs below a mark (enqueued by
 * a slow transaction, given back) are found by the next look at the lanes, within a second.
 *
 * The attempt counts here, not when it fails: a job that kills its process must run out of attempts (pain 36).
 * A worker whose lease has lapsed claims nothing. The epoch is an integer, so this commit must be durable:
 * after a crash a lost claim would be given out again under the same number.
 *
 * The lanes are served in the order in which they are given, and those at the end may get nothing: the anti-join below
 * would turn them round when it hashes them.
 *
 * Lanes of a type that is paused, or has a gate by now, fall away before any of their rows is touched: one look at
 * the type's row per lane, whatever the backlog (pain 6). What was running when a worker died waits for its own claim
 * (isolation.ts), and so does what is written in a newer version for a newer release.
 *
 * Here and in the statements that settle, rows are reached by `id = any(array(…))` or by a lateral look-up through
 * the key, never by a plain join or through `worker_id`: once `job` has been analysed with a backlog in it, the
 * planner takes a hash join over the whole table, or `job_running` in the belief that hardly anything runs, for a
 * batch of 500. Measured on one busy machine: 258 jobs per second instead of 4,806.
 */
export const CLAIM = statement<ClaimedRow>(
  'jobs.claim',
  `with lane as materialized (
    select * from unnest($1::text[], $2::smallint[], $3::uuid[], $4::smallint[], $5::timestamptz[])
      with ordinality as given(type, version, tenant_id, urgency, mark, place)
    where not exists (
      select from job_type kind left join job_breaker breaker using (type, dependency)
      where kind.type = given.type
        and (kind.paused_at is not null or kind.limited or breaker.state in ('OPEN', 'HALF_OPEN'))
    )
    order by place
  ), due as materialized (
    select taken.id
    from lane cross join lateral (
      select id from job
      where worker_id is null and type = lane.type and tenant_id = lane.tenant_id and urgency = lane.urgency
        and due >= lane.mark and due <= now() and lost = 0 and payload_version <= lane.version
      order by due limit $6 for update skip locked
    ) taken
    where exists (select from job_worker where id = $8::uuid and lease_until > now())
    limit $7
  ), claimed as (
    update job set status = 'PROCESSING', attempt = attempt + 1, claim_epoch = claim_epoch + 1, worker_id = $8::uuid,
      claimed_at = clock_timestamp()
    where id = any(array(select id from due))
    returning *
  )
  select ${CLAIMED_COLUMNS} from claimed join job_policy on job_policy.id = claimed.policy_id`,
)

/**
 * Takes due jobs of one type that has a limit or whose breaker is not closed, or, with $9, one suspect of any type:
 * the migration of the gates says how, in `job_claim_gated`. $1 the type, $2 the newest version of its payload that is
 * known here, $3–$5 the lanes (tenant, urgency, mark), $6 most jobs, $7 most per lane, $8 the worker.
 */
export const CLAIM_GATED = statement<ClaimedRow>(
  'jobs.claim_gated',
  `select ${CLAIMED_COLUMNS}
  from job_claim_gated($1, $2::smallint, $3::uuid[], $4::smallint[], $5::timestamptz[], $6::integer, $7::integer,
    $8::uuid, $9::boolean) claimed
  join job_policy on job_policy.id = claimed.policy_id`,
)
