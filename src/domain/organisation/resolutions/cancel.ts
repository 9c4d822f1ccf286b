import { ConflictError, NotFoundError } from '../../../errors/index.ts'
import { cancelJobs, type JobDefinition } from '../../../jobs/index.ts'
import { transition } from '../../../transitions/index.ts'
import { mustBeAllowed } from '../../../viewer/index.ts'
import type { Call } from '../../call.ts'
import { actOf } from '../act.ts'
import { canonicalId } from '../ids.ts'
import type { Composition } from '../impact/composition.ts'
import { lockVersions } from '../versions/lock.ts'
import { writeTransaction } from '../write-transaction.ts'
import { resolutionLifecycle } from './lifecycle.ts'
import { resolutionById } from './read.ts'
import { BY_IDS, BY_IDS_FOR_UPDATE, eventData, type Resolution } from './resolution.ts'
import type { ResolutionJobPayload } from './resolution-job.ts'
import { submitResolutions } from './submit.ts'

export interface ResolutionRequest {
  readonly resolutionId: string
  /** The resolution's `version` that the caller had before its eyes. */
  readonly expectedVersion?: number
}

/**
 * Takes back a choice that is not carried out yet: FAILED with the code `orgmodel.resolution.cancelled`. One that
 * is being carried out is waited for, and if it completes first there is nothing left to cancel.
 * @throws NotFoundError, ConflictError, InvalidTransitionError
 */
export async function cancelResolution(call: Call, request: ResolutionRequest): Promise<Resolution> {
  mustBeAllowed(call.viewer, 'orgmodel.resolve')
  const id = canonicalId(request.resolutionId)
  if (id === null) throw noSuchResolution()
  const act = actOf(call.viewer)
  return writeTransaction(call, async (tx) => {
    const [seen] = await tx.query(BY_IDS, [JSON.stringify([id])])
    if (seen === undefined) throw noSuchResolution()
    await cancelJobs(tx, {
      tenantId: tx.tenantId,
      jobIds: [seen.jobId],
      reason: 'orgmodel.resolution.cancelled',
      actor: act.actor,
    })
    await lockVersions(tx, 'share')
    const [row] = await tx.query(BY_IDS_FOR_UPDATE, [JSON.stringify([id])])
    if (row === undefined) throw noSuchResolution()
    if (row.jobId !== seen.jobId) throw new ConflictError('Another choice was made for this issue in the meantime.')
    const error = 'It was cancelled before it was carried out.'
    const { submissionNo, attempt, maxAttempts } = row
    const errorCode = 'orgmodel.resolution.cancelled'
    await transition(tx, resolutionLifecycle, {
      id,
      to: 'FAILED',
      act,
      reason: errorCode,
      expectedVersion: request.expectedVersion,
      data: eventData(row, { submissionNo, attempt, maxAttempts, errorCode, error }),
      set: { error, error_code: errorCode, next_attempt_at: null },
    })
    return (await tx.query(BY_IDS, [JSON.stringify([id])]))[0]!
  })
}

/**
 * Submits the same action with the same payload once more, against the issue as it is now.
 * @throws NotFoundError, ConflictError, ResolutionsInvalidError
 */
export async function retryResolution(
  composition: Composition,
  job: JobDefinition<ResolutionJobPayload>,
  call: Call,
  request: ResolutionRequest,
): Promise<Resolution> {
  mustBeAllowed(call.viewer, 'orgmodel.resolve')
  const resolution = await resolutionById(call, request.resolutionId)
  if (resolution === null) throw noSuchResolution()
  if (request.expectedVersion !== undefined && request.expectedVersion !== resolution.version)
    throw new ConflictError('The resolution has changed. Read it again and decide anew.', {
      currentVersion: resolution.version,
    })
  const { draftVersionId, issueCode, affectedEntityId, actionType, actionPayload } = resolution
  const [submitted] = await submitResolutions(composition, job, call, {
    expectedDraftVersionId: draftVersionId,
    resolutions: [
      {
        issueCode,
        affectedEntityId,
        chosenActionType: actionType,
        actionPayload: actionPayload === null ? null : JSON.parse(actionPayload),
      },
    ],
  })
  return (await resolutionById(call, submitted!.resolutionId))!
}

const noSuchResolution = (): NotFoundError => new NotFoundError('The resolution', { path: ['resolutionId'] })
