import { statement, type Queryable } from '../database/index.ts'
import type { FailureClass } from '../errors/index.ts'
import type { JobStatus } from './definition.ts'
import { toTenantColumn } from './tenant.ts'

/** What becomes of a job, for whoever may see the thing it works for. */
export interface JobState {
  readonly jobId: string
  readonly type: string
  readonly displayName: string
  readonly status: JobStatus
  /** Attempts begun; 0 while it waits for its first. */
  readonly attempt: number
  /** The attempt at which it ends: those before an operator's retry are counted in. */
  readonly maxAttempts: number
  /** When it is due (again); null while it runs and when it is over. */
  readonly nextAttemptAt: Date | null
  readonly createdAt: Date
  readonly finishedAt: Date | null
}

/** One attempt that ended, or one act on a job that did not run. */
export interface JobAttempt {
  readonly jobId: string
  readonly attempt: number
  readonly from: JobStatus
  readonly to: JobStatus
  readonly failure: { readonly class: FailureClass; readonly code: string; readonly message: string } | null
  readonly reason: string | null
  readonly actor: string
  readonly startedAt: Date | null
  readonly endedAt: Date
  readonly nextAttemptAt: Date | null
  readonly correlationId: string
  /** Redacted; null unless asked for. Operators only. */
  readonly stack: string | null
}

/** The states of a tenant's jobs, waiting, running or over; ids that do not exist for the tenant are left out. */
export async function jobStates(
  on: Queryable,
  tenantId: string | null,
  jobIds: readonly string[],
): Promise<Map<string, JobState>> {
  if (jobIds.length === 0) return new Map()
  const rows = await on.run(JOB_STATES, [JSON.stringify(jobIds), toTenantColumn(tenantId)])
  return new Map(rows.map((row) => [row.jobId, row]))
}

/** Most attempts of one job that are given: a job that is postponed every few seconds has thousands. */
export const MOST_ATTEMPTS = 100

/** The attempts of a tenant's jobs, oldest first; of a job with more than `MOST_ATTEMPTS` the newest. */
export async function attemptsOfJobs(
  on: Queryable,
  tenantId: string | null,
  jobIds: readonly string[],
  options: { readonly withStacks?: boolean } = {},
): Promise<Map<string, JobAttempt[]>> {
  return readAttempts(on, toTenantColumn(tenantId), jobIds, options.withStacks ?? false)
}

/** As `attemptsOfJobs`, of whichever tenant the jobs are. */
export async function attemptsForOperators(
  on: Queryable,
  jobIds: readonly string[],
  options: { readonly withStacks: boolean },
): Promise<Map<string, JobAttempt[]>> {
  return readAttempts(on, null, jobIds, options.withStacks)
}

async function readAttempts(
  on: Queryable,
  tenant: string | null,
  jobIds: readonly string[],
  withStacks: boolean,
): Promise<Map<string, JobAttempt[]>> {
  const attempts = new Map<string, JobAttempt[]>(jobIds.map((id) => [id, []]))
  if (jobIds.length === 0) return attempts
  const values = [JSON.stringify(jobIds), tenant, withStacks]
  for (const { failureClass, code, message, ...row } of await on.run(ATTEMPTS, values)) {
    const failure =
      failureClass === null ? null : { class: failureClass as FailureClass, code: code ?? '', message: message ?? '' }
    attempts.get(row.jobId)?.push({ ...row, failure })
  }
  return attempts
}

const JOB_STATES = statement<JobState>(
  'jobs.states',
  `with wanted as materialized (select value::uuid as id from jsonb_array_elements_text($1::jsonb))
  select job.id::text as "jobId", type, display_name as "displayName", status, attempt::int as attempt,
    (attempt_base + max_attempts)::int as "maxAttempts", case when worker_id is null then due end as "nextAttemptAt",
    job.created_at as "createdAt", null::timestamptz as "finishedAt"
  from wanted join job using (id) join job_policy on job_policy.id = job.policy_id
  where job.tenant_id = $2::uuid
  union all
  select over.id::text, type, display_name, status, attempt::int, (attempt_base + max_attempts)::int, null, over.created_at, finished_at
  from wanted join job_finished over using (id) join job_policy on job_policy.id = over.policy_id
  where over.tenant_id = $2::uuid`,
)

type AttemptRow = Omit<JobAttempt, 'failure'> & {
  readonly failureClass: string | null
  readonly code: string | null
  readonly message: string | null
}

/**
 * In the order of their numbers, which were drawn under the job's lock. A transaction's id says when it began, not when
 * it came to this job.
 */
const ATTEMPTS = statement<AttemptRow>(
  'jobs.attempts',
  `with wanted as materialized (select value::uuid as id from jsonb_array_elements_text($1::jsonb))
  select e.job_id::text as "jobId", e.attempt::int as attempt, e."from", e."to", e.failure_class as "failureClass",
    e.code, e.message, e.reason, e.actor, e.started_at as "startedAt", e.recorded_at as "endedAt",
    e.next_attempt_at as "nextAttemptAt", e.correlation_id as "correlationId", case when $3::boolean then e.stack end as stack
  from wanted cross join lateral (
    select * from job_event where job_id = wanted.id and ($2::uuid is null or tenant_id = $2::uuid)
    order by epoch desc, id desc limit ${MOST_ATTEMPTS}
  ) e
  order by e.epoch, e.id`,
)
