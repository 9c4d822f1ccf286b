import { cancelJobs } from '../../../jobs/index.ts'
import { statement, type Tx } from '../../../database/index.ts'
import { transitionMany, type Act } from '../../../transitions/index.ts'
import { resolutionsInFlight } from '../resolutions/in-flight.ts'
import { resolutionLifecycle } from '../resolutions/lifecycle.ts'
import { BY_IDS_FOR_UPDATE, eventData } from '../resolutions/resolution.ts'

const CANCELLED = 'orgmodel.resolution.cancelled'
const ERROR = 'The draft was closed before this was carried out.'

/** Cancels the jobs of the draft, which is about to close. Before any other lock: jobs come first in the lock order. */
export async function cancelJobsOfDraft(tx: Tx, act: Act): Promise<void> {
  const jobs = await tx.query(JOBS_OF_DRAFT, [])
  await cancelJobs(tx, {
    tenantId: tx.tenantId,
    jobIds: jobs.map(({ jobId }) => jobId),
    reason: CANCELLED,
    actor: act.actor,
  })
}

/**
 * Fences what is still on its way when a draft closes (C31, C32): FAILED under a submission number that no job has.
 * A job submitted since the cancelling above finds that out when it begins. The versions are locked.
 */
export async function failInFlight(tx: Tx, draftVersionId: string, act: Act): Promise<void> {
  const ids = (await resolutionsInFlight(tx, draftVersionId)).map(({ id }) => id)
  const rows = await tx.query(BY_IDS_FOR_UPDATE, [JSON.stringify(ids)])
  await transitionMany(
    tx,
    resolutionLifecycle,
    rows.map((row) => {
      const submissionNo = row.submissionNo + 1
      const { attempt, maxAttempts } = row
      return {
        id: row.id,
        to: 'FAILED' as const,
        act,
        reason: CANCELLED,
        data: eventData(row, { submissionNo, attempt, maxAttempts, errorCode: CANCELLED, error: ERROR }),
        set: { submission_no: submissionNo, error: ERROR, error_code: CANCELLED, next_attempt_at: null },
      }
    }),
  )
}

const JOBS_OF_DRAFT = statement<{ jobId: string }>(
  'organisation.draft.jobs',
  `select r.job_id as "jobId"
   from org_model_draft_resolution r
   join org_model_version v on v.tenant_id = r.tenant_id and v.id = r.draft_version_id and v.status = 'DRAFT'
   where r.tenant_id = $1::uuid and r.status in ('PENDING', 'PROCESSING')`,
)
