import { z } from 'zod'
import { statement, type Queryable, type Tx } from '../../../database/index.ts'
import {
  attemptsOfJobs,
  batchDone,
  type CandidateOutcome,
  defineJob,
  defineSchedule,
  eachCandidate,
  type JobContext,
  type JobState,
  jobStates,
} from '../../../jobs/index.ts'
import type { ResolutionStatus } from '../resolutions/lifecycle.ts'
import { recordOutcomes, type ResolutionOutcome } from '../resolutions/record-outcomes.ts'
import { BY_IDS_FOR_UPDATE, type Resolution } from '../resolutions/resolution.ts'

/** Resolutions read at once. */
const PAGE = 500

/**
 * Looks for resolutions whose job cannot move them any more: it is over or gone, or waits while they are PROCESSING. A
 * job and its resolution change in one transaction, so there should be none; one that there is, after a restore or a
 * correction by hand, would block its draft's activation for ever.
 */
export const resolutionReaper = defineJob({
  type: 'orgmodel.resolution_reaper',
  class: 'PERIODIC_CHECK',
  payload: z.strictObject({}),
  timeoutMs: 5 * 60_000,
  idempotency: 'It looks again under the lock of the resolution, and what is in order is left alone.',
  displayName: () => 'Resolutions that their job has left behind',
  async run(_payload, context) {
    const result = await eachCandidate(
      context,
      stranded(context),
      ({ id }) => id,
      (candidate) => repair(context, candidate),
    )
    return batchDone(result, context.correlationId)
  },
})

export const resolutionReaperEveryMinute = defineSchedule({
  name: resolutionReaper.type,
  job: resolutionReaper,
  payload: {},
  everyMs: 60_000,
})

interface InFlight {
  readonly tenantId: string
  readonly id: string
  readonly jobId: string
  readonly status: ResolutionStatus
}

async function* stranded(context: JobContext): AsyncGenerator<InFlight> {
  for (let after = '00000000-0000-0000-0000-000000000000'; ; ) {
    const { found, last } = await context.step((tx) => look(tx, after))
    yield* found
    if (last === null) return
    after = last
  }
}

async function look(on: Queryable, after: string): Promise<{ found: InFlight[]; last: string | null }> {
  const page = await on.run(IN_FLIGHT, [after, PAGE])
  const found: InFlight[] = []
  for (const tenantId of new Set(page.map((row) => row.tenantId))) {
    const rows = page.filter((row) => row.tenantId === tenantId)
    const jobs = await jobStates(
      on,
      tenantId,
      rows.map(({ jobId }) => jobId),
    )
    found.push(...rows.filter(({ status, jobId }) => isStranded(status, jobs.get(jobId))))
  }
  return { found, last: page.length < PAGE ? null : page.at(-1)!.id }
}

function isStranded(status: ResolutionStatus, job: JobState | undefined): boolean {
  switch (job?.status) {
    case 'PROCESSING':
      return false
    case 'SCHEDULED':
    case 'RETRY_SCHEDULED':
      return status === 'PROCESSING'
    default:
      return true
  }
}

/** Under the lock of the resolution no job can move it, so that what is read of both is of one moment. */
function repair(context: JobContext, { tenantId, id }: InFlight): Promise<CandidateOutcome> {
  return context.stepFor(tenantId, async (tx) => {
    const [resolution] = await tx.query(BY_IDS_FOR_UPDATE, [JSON.stringify([id])])
    if (resolution === undefined || !['PENDING', 'PROCESSING'].includes(resolution.status)) return 'SKIPPED'
    const { jobId, status } = resolution
    const job = (await jobStates(tx, tenantId, [jobId])).get(jobId)
    if (!isStranded(status, job)) return 'SKIPPED'
    await recordOutcomes(tx, [await outcomeOf(tx, resolution, job, context.correlationId)])
    context.log.error(
      { tenantId, resolutionId: id, status, resolutionJob: jobId, jobStatus: job?.status ?? null },
      'A resolution stood where its job had left it, and now says what its job says.',
    )
    return 'PROCESSED'
  })
}

/** What the job would have told the resolution, had it done so. */
async function outcomeOf(
  tx: Tx,
  { id, submissionNo, jobId, attempt, maxAttempts }: Resolution,
  job: JobState | undefined,
  correlationId: string,
): Promise<ResolutionOutcome> {
  const told = {
    jobId,
    payload: { resolutionId: id, submissionNo },
    attempt: job?.attempt ?? attempt,
    maxAttempts: job?.maxAttempts ?? maxAttempts,
    correlationId,
    nextAttemptAt: job?.nextAttemptAt ?? null,
    reason: null,
    failure: null,
    actor: 'system',
  }
  // A job that succeeded has written its effect and COMPLETED in one commit; without the one, nobody knows of the other.
  if (job === undefined || job.status === 'SUCCEEDED') return { ...told, status: 'FAILED', failure: NOBODY_KNOWS }
  const last = (await attemptsOfJobs(tx, tx.tenantId, [jobId])).get(jobId)?.at(-1)
  return {
    ...told,
    status: job.status,
    reason: last?.reason ?? null,
    failure: job.status === 'FAILED' ? (last?.failure ?? NOBODY_KNOWS) : null,
  }
}

const NOBODY_KNOWS = {
  class: 'PERMANENT',
  code: 'orgmodel.resolution.job_missing',
  message: 'Its job is gone, and nothing says how it ended. Submit the resolution again.',
} as const

// Through an index of those in flight alone, whatever the number of resolutions of all tenants.
const IN_FLIGHT = statement<InFlight>(
  'organisation.resolutions_in_flight_of_all',
  `select tenant_id::text as "tenantId", id::text, job_id as "jobId", status
   from org_model_draft_resolution
   where status in ('PENDING', 'PROCESSING') and id > $1::uuid order by id limit $2::int`,
)
