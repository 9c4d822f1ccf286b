import { statement } from '../../database/index.ts'

/**
 * Which of these claims still stand, with their rows locked for the rest of the transaction: $1 claims as JSON
 * (`id`, `claimEpoch`). Comes first in every transaction of a handler: the lock order is job, then
 * domain row, and a worker that lost its claim finds out before it writes.
 */
export const PROVE_CLAIMS = statement<{ readonly id: string }>(
  'jobs.prove_claims',
  `select held.id::text
  from (
    select * from jsonb_to_recordset($1::jsonb) as claim(id uuid, "claimEpoch" integer) order by id
  ) claim cross join lateral (
    select id from job where id = claim.id and claim_epoch = claim."claimEpoch" and status = 'PROCESSING' for update
  ) held`,
)

export interface HeldRow {
  readonly id: string
  readonly claimEpoch: number
  readonly cancelRequested: boolean
}

/** Which of these jobs ($1 ids) are running, under which epoch, without locking: whose epoch it is not has lost it. */
export const STILL_HELD = statement<HeldRow>(
  'jobs.still_held',
  `select id, claim_epoch as "claimEpoch", cancel_requested_at is not null as "cancelRequested"
  from job where id = any($1::uuid[]) and status = 'PROCESSING'`,
)

/** What a worker ($1) has held for more than five seconds, according to the database. */
export const STILL_CLAIMED = statement<{ readonly id: string; readonly claimEpoch: number }>(
  'jobs.still_claimed',
  `select id, claim_epoch as "claimEpoch" from job
  where worker_id = $1::uuid and claimed_at < now() - interval '5 seconds'`,
)
