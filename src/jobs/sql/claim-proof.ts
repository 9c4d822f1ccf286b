import { statement } from '../../database/index.ts'

/**
 * Which of these claims still stand, with their rows locked for the rest of the transaction: $1 claims as JSON
 * (`id`, `claimEpoch`), $2 the worker. Comes first in every transaction of a handler: the lock order is job, then
 * domain row, and a worker that lost its claim finds out before it writes.
 */
export const PROVE_CLAIMS = statement<{ readonly id: string }>(
  'jobs.prove_claims',
  `select job.id::text
  from jsonb_to_recordset($1::jsonb) as claim(id uuid, "claimEpoch" integer)
  join job on job.id = claim.id and job.claim_epoch = claim."claimEpoch" and job.worker_id = $2::uuid
  order by job.id for update of job`,
)

export interface HeldRow {
  readonly id: string
  readonly claimEpoch: number
  readonly cancelRequested: boolean
}

/** Which of these jobs ($1 ids) are still held by this worker ($2), without locking: what is missing was lost. */
export const STILL_HELD = statement<HeldRow>(
  'jobs.still_held',
  `select id, claim_epoch as "claimEpoch", cancel_requested_at is not null as "cancelRequested"
  from job where id = any($1::uuid[]) and worker_id = $2::uuid`,
)
