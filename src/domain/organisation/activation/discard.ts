import { ValidationError } from '../../../errors/index.ts'
import { transition } from '../../../transitions/index.ts'
import { mustBeAllowed } from '../../../viewer/index.ts'
import type { Call } from '../../call.ts'
import { actOf } from '../act.ts'
import { bumpDownstream } from '../clock.ts'
import { canonicalId } from '../ids.ts'
import { versionLifecycle } from '../lifecycles.ts'
import { DraftChangedError, NoDraftError } from '../versions/errors.ts'
import { lockVersions } from '../versions/lock.ts'
import { versionOf, type OrgModelVersion } from '../versions/version.ts'
import { writeTransaction } from '../write-transaction.ts'
import { dropUnapplied } from './apply-effects.ts'
import { cancelJobsOfDraft, failInFlight } from './close-resolutions.ts'
import { databaseClock } from './switch-versions.ts'

export interface DiscardDraftInput {
  readonly reason: string
  readonly expectedDraftVersionId?: string | null
}

/**
 * Gives the draft up: its jobs are cancelled, its resolutions end, what they had prepared is gone, and nothing
 * live was ever touched (C31).
 * @throws ForbiddenError, NoDraftError, DraftChangedError, ValidationError, BusyError
 */
export async function discardDraft(call: Call, input: DiscardDraftInput): Promise<OrgModelVersion> {
  mustBeAllowed(call.viewer, 'orgmodel.edit')
  const reason = input.reason.trim()
  if (reason === '' || reason.length > 2_000)
    throw new ValidationError('Say in 1 to 2,000 characters why the draft is given up.', { path: ['reason'] })
  const act = actOf(call.viewer)
  return writeTransaction(call, async (tx) => {
    await cancelJobsOfDraft(tx, act)
    const { draft } = await lockVersions(tx, 'update')
    if (draft === null) throw new NoDraftError()
    const expected = input.expectedDraftVersionId
    if (expected != null && canonicalId(expected) !== draft.id)
      throw new DraftChangedError(draft, ['expectedDraftVersionId'])
    await failInFlight(tx, draft.id, act)
    await dropUnapplied(tx, draft.id)
    await transition(tx, versionLifecycle, {
      id: draft.id,
      to: 'DISCARDED',
      act,
      data: { number: draft.number, reason },
      set: { discarded_by: act.actor, discarded_at: await databaseClock(tx), discard_reason: reason },
    })
    await bumpDownstream(tx)
    return versionOf(await tx.prisma.orgModelVersion.findFirstOrThrow({ where: { id: draft.id } }))
  })
}
