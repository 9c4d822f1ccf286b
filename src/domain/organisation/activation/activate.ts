import type { Tx } from '../../../database/index.ts'
import { ConflictError } from '../../../errors/index.ts'
import type { Act } from '../../../transitions/index.ts'
import { mustBeAllowed } from '../../../viewer/index.ts'
import type { Call } from '../../call.ts'
import { idempotencyKeyOf } from '../../idempotency-key.ts'
import { actOf } from '../act.ts'
import { downstreamClock } from '../clock.ts'
import { BLOCKING_ISSUES, obstacles } from '../impact/can-activate.ts'
import type { Composition } from '../impact/composition.ts'
import { effectsInForce } from '../impact/evaluation.ts'
import { freshEvaluation } from '../impact/fresh-evaluation.ts'
import type { Issue } from '../impact/issue.ts'
import type { Compared } from '../impact/load-context.ts'
import { stagedEffects } from '../resolutions/completed.ts'
import { resolutionsInFlight } from '../resolutions/in-flight.ts'
import { DraftChangedError, NoDraftError } from '../versions/errors.ts'
import { lockVersions, type LockedVersions } from '../versions/lock.ts'
import { writeTransaction } from '../write-transaction.ts'
import { activationByKey, type Activation, type KeyedRequest } from './activation.ts'
import { lockTargets } from './apply-effects.ts'
import { cancelJobsOfDraft, failInFlight } from './close-resolutions.ts'
import { BlockingIssuesError } from './errors.ts'
import { switchVersions } from './switch-versions.ts'

export interface ActivateDraftInput {
  /** The content revision that was looked at. */
  readonly expectedContentRevision: number
  /** The same key answers with the activation that it led to. */
  readonly idempotencyKey?: string | null
}

/**
 * Makes the draft the version that counts: everything or nothing, in one transaction, decided by what is true
 * under its locks and not by what an evaluation said before (C33). Whoever activates anything does it here.
 * @throws ForbiddenError, NoDraftError, DraftChangedError, BlockingIssuesError, StagedEffectConflictError,
 *   BusyError, IdempotencyKeyReusedError, ConflictError (`orgmodel.version.base_outdated`, `.no_changes`, `.resolutions_in_flight`)
 */
export async function activateDraft(
  composition: Composition,
  call: Call,
  input: ActivateDraftInput,
): Promise<Activation> {
  mustBeAllowed(call.viewer, 'orgmodel.activate')
  const request = { key: idempotencyKeyOf(input), expectedContentRevision: input.expectedContentRevision }
  return writeTransaction(call, (tx) => activate(tx, composition, actOf(call.viewer), request))
}

async function activate(tx: Tx, composition: Composition, act: Act, request: KeyedRequest): Promise<Activation> {
  const started = performance.now()
  const before = await activationByKey(tx, request)
  if (before !== null) return before
  await cancelJobsOfDraft(tx, act)
  const locked = await lockVersions(tx, 'update')
  // Of two with one key at once, the second has waited at the lock and finds the first one's activation here.
  const meanwhile = await activationByKey(tx, request)
  if (meanwhile !== null) return meanwhile
  const versions = mustBeExpected(locked, request)
  const { id: draftId } = versions.draft

  await lockTargets(tx, await stagedEffects(tx, draftId))
  await downstreamClock(tx, 'update')
  const { evaluation, issues } = await freshEvaluation(tx, composition, versions, 'ACTIVATE')
  await mustBeActivatable(tx, draftId, issues)
  const effects = await effectsInForce(tx, draftId, issues)
  await failInFlight(tx, draftId, act)
  return switchVersions(tx, versions, effects, act, {
    evaluationId: evaluation.id,
    idempotencyKey: request.key,
    started,
  })
}

function mustBeExpected({ active, draft }: LockedVersions, { expectedContentRevision }: KeyedRequest): Compared {
  if (draft === null) throw new NoDraftError()
  if (draft.contentRevision !== expectedContentRevision) throw new DraftChangedError(draft, ['expectedContentRevision'])
  return { active, draft }
}

async function mustBeActivatable(tx: Tx, draftId: string, issues: readonly Issue[]): Promise<void> {
  const inFlight = new Set((await resolutionsInFlight(tx, draftId)).map(({ issueKey }) => issueKey))
  const reasons = obstacles(issues, inFlight)
  const blocked = reasons.find(({ code }) => code === BLOCKING_ISSUES)
  if (blocked !== undefined) throw new BlockingIssuesError(issues.filter(({ key }) => blocked.issueKeys.includes(key)))
  const [first] = reasons
  if (first === undefined) return
  const message =
    first.code === 'orgmodel.version.resolutions_in_flight'
      ? 'Some resolutions are still being carried out. Wait until they are done.'
      : (issues.find(({ key }) => first.issueKeys.includes(key))?.message ?? 'The draft cannot be activated now.')
  throw new ConflictError(message, { code: first.code })
}
