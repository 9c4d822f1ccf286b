import { statement, type Tx } from '../../../database/index.ts'
import { Failure } from '../../../errors/index.ts'
import type { JobContext } from '../../../jobs/index.ts'
import { transition } from '../../../transitions/index.ts'
import { may, membershipOf } from '../../../viewer/index.ts'
import { bumpDownstream } from '../clock.ts'
import { newId } from '../ids.ts'
import type { Composition } from '../impact/composition.ts'
import { effectsInForce, situationOf, withEffects } from '../impact/evaluation.ts'
import { loadContext, type Compared } from '../impact/load-context.ts'
import { runEvaluators, type BareIssue } from '../impact/pipeline.ts'
import type { Persona } from '../personas/persona.ts'
import { lockPersona } from '../personas/write.ts'
import { lockVersions } from '../versions/lock.ts'
import type { AnyResolutionAction, ExecutionResult } from './action.ts'
import { resolutionLifecycle } from './lifecycle.ts'
import { parsePayload } from './payload.ts'
import { BY_IDS, BY_IDS_FOR_UPDATE, eventData, type Resolution } from './resolution.ts'
import type { ResolutionJobPayload } from './resolution-job.ts'
import { lockTarget, stageEffects } from './stage-effects.ts'
import type { NewStagedEffect, StagedEffect } from './staged-effect.ts'

/**
 * Steps B and C, one transaction with the job's own ending: everything that held at submission is looked at again
 * under lock, the action runs, its effect is proven against the evaluators, and only then is it COMPLETED. Lock
 * order: versions, target, persona, resolution, clock. The resolution itself is locked last, so that whoever
 * makes another choice never waits for a slow action (V6).
 * @throws Failure for every other ending; `recordOutcomes` writes it down.
 */
export async function carryOut(
  tx: Tx,
  composition: Composition,
  { resolutionId, submissionNo }: ResolutionJobPayload,
  context: Pick<JobContext, 'attempt' | 'signal' | 'correlationId'>,
  lockTimeoutMs: number,
): Promise<void> {
  await tx.query(LOCK_TIMEOUT, [`${lockTimeoutMs}ms`])
  const { active, draft } = await lockVersions(tx, 'share')
  const [resolution] = await tx.query(BY_IDS, [JSON.stringify([resolutionId])])
  if (resolution === undefined || resolution.submissionNo !== submissionNo) throw superseded()
  if (draft === null || draft.id !== resolution.draftVersionId)
    throw over('draft_not_open', 'The draft is no longer open.')
  await mustStillBeAllowed(tx, resolution)

  const action = composition.actions.get(resolution.actionType)
  // Tried again: during a rolling deployment an old worker may meet a new action (C20).
  if (action === undefined)
    throw new Failure(
      'TRANSIENT',
      code('handler_not_registered'),
      `Nobody here carries out "${resolution.actionType}".`,
    )

  const situation = await lookAgain(tx, composition, { active, draft }, resolution)
  const payload = mustFit(action, resolution, situation.issue, situation.context)
  const result = await action.execute(payload, {
    ...situationOf(tx, situation.context),
    tx,
    issue: situation.issue,
    idempotencyKey: `${resolution.id}:${submissionNo}`,
    attempt: context.attempt,
    signal: context.signal,
  })
  const effects = effectsOf(result)
  await mustResolve(tx, composition, situation, resolution, effects)

  const [current] = await tx.query(BY_IDS_FOR_UPDATE, [JSON.stringify([resolutionId])])
  if (
    current === undefined ||
    current.submissionNo !== submissionNo ||
    current.attempt !== context.attempt ||
    current.status !== 'PROCESSING'
  )
    throw superseded()
  await stageEffects(tx, current, effects)
  await transition(tx, resolutionLifecycle, {
    id: current.id,
    to: 'COMPLETED',
    act: { actor: 'system', correlationId: context.correlationId },
    data: eventData(current, { submissionNo, attempt: context.attempt, maxAttempts: current.maxAttempts }),
    set: { error: null, error_code: null, last_attempt_error: null, last_attempt_code: null },
  })
  await bumpDownstream(tx)
}

const LOCK_TIMEOUT = statement<unknown>(
  'organisation.resolution.lock_timeout',
  `select set_config('lock_timeout', $2, true) where $1::uuid is not null`,
)

interface LookedAgain {
  readonly context: Awaited<ReturnType<typeof loadContext>>
  readonly live: ReadonlyMap<string, BareIssue>
  readonly issue: BareIssue
}

/** The issue as it is now; it must still be the one that the choice was made for (C34). */
async function lookAgain(
  tx: Tx,
  composition: Composition,
  versions: Compared,
  resolution: Resolution,
): Promise<LookedAgain> {
  const entity = composition.codes.get(resolution.issueCode)?.entity ?? null
  const id = resolution.affectedEntityId
  let personas: readonly Persona[] | undefined
  if (id !== null && entity !== null) await lockTarget(tx, entity, id)
  if (entity === 'PERSONA' && id !== null) {
    const persona = await lockPersona(tx, id)
    personas = persona === null || persona.archivedAt !== null ? [] : [persona]
  } else if (entity === 'ATTRIBUTE_OR_VALUE') personas = []
  const context = await loadContext(tx, versions, personas)
  const { issues } = await runEvaluators(composition, context)
  const issue = issues.get(resolution.issueKey)
  if (issue === undefined) throw over('issue_changed', 'The issue is gone: there is nothing left to resolve.')
  if (issue.fingerprint !== resolution.fingerprint)
    throw over(
      'issue_changed',
      'The issue is another one since this choice was made. Look at it again and choose anew.',
    )
  return { context, live: issues, issue }
}

function mustFit(
  action: AnyResolutionAction,
  resolution: Resolution,
  issue: BareIssue,
  context: LookedAgain['context'],
): unknown {
  const parsed = parsePayload(action, resolution.actionPayload)
  const problems = parsed.problems.length > 0 ? parsed.problems : action.check(parsed.payload, issue, context)
  const [first] = problems
  if (first !== undefined) throw new Failure('PERMANENT', first.code, first.message)
  return parsed.payload
}

function effectsOf(result: ExecutionResult): readonly NewStagedEffect[] {
  if (result.kind === 'NOT_APPLICABLE') throw new Failure('PERMANENT', result.code, result.message)
  if (result.affected === 0) throw ineffective()
  return result.effects
}

/** The proof (C12, law 3): with the effect the issue is gone and no new blocking one has come. */
async function mustResolve(
  tx: Tx,
  composition: Composition,
  { context, live, issue }: LookedAgain,
  resolution: Resolution,
  effects: readonly NewStagedEffect[],
): Promise<void> {
  const others = (await effectsInForce(tx, resolution.draftVersionId, [...live.values()])).filter(
    ({ resolutionId }) => resolutionId !== resolution.id,
  )
  const own = effects.map(
    (effect, index): StagedEffect => ({
      ...effect,
      id: newId(),
      resolutionId: resolution.id,
      submissionNo: resolution.submissionNo,
      seq: others.length + index + 1,
    }),
  )
  if (own.some((effect) => others.some((other) => excludes(other, effect))))
    throw new Failure(
      'PERMANENT',
      code('target_conflict'),
      'Another resolution takes away what this one would change. Choose again for one of the two.',
    )
  const projected = withEffects(context, [...others, ...own], [resolution])
  const { issues } = await runEvaluators(composition, projected)
  if (resolution.effect === 'STAGED' && issues.has(issue.key)) throw ineffective()
  const caused = [...issues.values()].find(({ key, severity }) => severity === 'BLOCKING' && !live.has(key))
  if (caused !== undefined)
    throw new Failure('PERMANENT', code('ineffective'), `It would cause another blocking issue: ${caused.message}`)
}

/** Nothing can be changed about a thing after it was archived. */
const excludes = (earlier: StagedEffect, later: StagedEffect): boolean =>
  earlier.targetKind === later.targetKind &&
  earlier.targetId === later.targetId &&
  earlier.forward['kind'] === 'ARCHIVE' &&
  earlier.targetKind === 'PERSONA'

/** The submitter may have lost the right since (C46). */
async function mustStillBeAllowed(tx: Tx, { submittedBy }: Resolution): Promise<void> {
  const membership = await membershipOf(tx, { tenantId: tx.tenantId, subject: submittedBy })
  if (membership === null || !membership.active || !may(membership.roles, 'orgmodel.resolve'))
    throw over('forbidden_at_execution', 'Whoever chose this may no longer resolve issues here.')
}

const code = (name: string): string => `orgmodel.resolution.${name}`

/** The context is gone: the job ends cancelled, the resolution FAILED with this code. */
const over = (name: string, message: string): Failure => new Failure('CANCELLED', code(name), message)

const superseded = (): Failure => over('superseded', 'Another submission has taken the place of this one.')

const ineffective = (): Failure =>
  new Failure('PERMANENT', code('ineffective'), 'The action ran and the issue is still there. Choose another action.')
