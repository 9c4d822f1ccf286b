import type { Tx } from '../../../database/index.ts'
import type { JobContext } from '../../../jobs/index.ts'
import { transition } from '../../../transitions/index.ts'
import { lockVersions } from '../versions/lock.ts'
import { resolutionLifecycle } from './lifecycle.ts'
import { BY_IDS_FOR_UPDATE, eventData } from './resolution.ts'
import type { ResolutionJobPayload } from './resolution-job.ts'

/**
 * Step A: shows that an attempt has begun. Null, or the reason why there is nothing to do: the row is gone (C19),
 * another submission took its place (C14, C15), it is over already (C16) or its draft is closed (C31).
 */
export async function beginAttempt(
  tx: Tx,
  { resolutionId, submissionNo }: ResolutionJobPayload,
  { attempt, correlationId }: Pick<JobContext, 'attempt' | 'correlationId'>,
): Promise<string | null> {
  const { draft } = await lockVersions(tx, 'share')
  const [row] = await tx.query(BY_IDS_FOR_UPDATE, [JSON.stringify([resolutionId])])
  if (row === undefined) return 'orgmodel.resolution.not_found'
  if (row.submissionNo !== submissionNo || row.status !== 'PENDING') return 'orgmodel.resolution.superseded'
  if (draft?.id !== row.draftVersionId) return 'orgmodel.resolution.draft_not_open'
  await transition(tx, resolutionLifecycle, {
    id: row.id,
    to: 'PROCESSING',
    act: { actor: 'system', correlationId },
    data: eventData(row, { submissionNo, attempt, maxAttempts: row.maxAttempts }),
    set: { attempt_no: attempt, next_attempt_at: null },
  })
  return null
}
