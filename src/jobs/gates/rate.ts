import { statement, type Queryable } from '../../database/index.ts'

/** Removes buckets that are full again: none is the same as a full one. So many rows stay as tenants are being limited. */
export async function forgetFullBuckets(on: Queryable): Promise<void> {
  await on.run(FORGET_FULL_BUCKETS, [])
}

const FORGET_FULL_BUCKETS = statement<never>(
  'jobs.forget_full_buckets',
  `delete from job_rate using job_type kind
  where kind.type = job_rate.type and (kind.rate_jobs is null
    or job_rate_tokens(tokens, refilled_at, kind.rate_jobs, kind.rate_per_ms, now()) >= kind.rate_jobs)`,
)
