import type { Composition } from '../impact/composition.ts'
import type { ImpactContext } from '../impact/context.ts'
import { canonicalEntityId, isIssueCode, issueKey, type Issue } from '../impact/issue.ts'
import type { AnyResolutionAction, PayloadProblem } from './action.ts'
import { ResolutionsInvalidError, type ResolutionProblem } from './errors.ts'
import { parsePayload } from './payload.ts'

/** The choice of an action for one issue, as it comes from outside. */
export interface ResolutionInput {
  readonly issueCode: string
  readonly affectedEntityId?: string | null
  readonly chosenActionType: string
  /** Any JSON; the action says what it must be. */
  readonly actionPayload?: unknown
}

/** A choice with its ids in their one spelling. */
export interface Choice {
  readonly index: number
  readonly issueKey: string
  readonly issueCode: string
  readonly affectedEntityId: string | null
  readonly actionType: string
  /** JSON text as it is kept; null when nothing was given. */
  readonly payload: string | null
}

/** A choice that may be submitted. */
export interface CheckedChoice extends Choice {
  readonly issue: Issue
  readonly action: AnyResolutionAction
}

/**
 * Shape and doubles, which need no database.
 * @throws ResolutionsInvalidError
 */
export function readChoices(inputs: readonly ResolutionInput[]): Choice[] {
  const problems: ResolutionProblem[] = []
  const firstOf = new Map<string, number>()
  const choices = inputs.map((input, index) => {
    const entity = input.affectedEntityId ?? null
    if (!isIssueCode(input.issueCode)) problems.push(problem(index, ['issueCode'], 'issue_not_open', NO_SUCH_ISSUE))
    if (entity === '' || (entity !== null && entity.length > 200))
      problems.push(
        problem(
          index,
          ['affectedEntityId'],
          'payload_invalid',
          'An id has 1 to 200 characters; leave it out for a general issue.',
        ),
      )
    const affectedEntityId = entity === null ? null : canonicalEntityId(entity)
    const key = issueKey(input.issueCode, affectedEntityId)
    const first = firstOf.get(key)
    if (first === undefined) firstOf.set(key, index)
    else
      problems.push(
        problem(
          index,
          [],
          'duplicate_in_batch',
          `The resolutions ${first} and ${index} are for the same issue. Choose one action.`,
        ),
      )
    return {
      index,
      issueKey: key,
      issueCode: input.issueCode,
      affectedEntityId,
      actionType: input.chosenActionType,
      payload:
        input.actionPayload === undefined || input.actionPayload === null ? null : JSON.stringify(input.actionPayload),
    }
  })
  if (problems.length > 0) throw new ResolutionsInvalidError(problems)
  return choices
}

/** What stands on the same entity already: the resolutions of this draft that are not FAILED. */
export interface Standing {
  readonly issueKey: string
  readonly affectedEntityId: string | null
  readonly actionType: string
  readonly status: string
}

/**
 * Every choice against a fresh evaluation: is the issue there, was this action offered for it, is the payload one
 * that the action takes for this very issue (C10, C42, C43).
 * @throws ResolutionsInvalidError with the problems of all of them
 */
export function checkChoices(
  choices: readonly Choice[],
  composition: Composition,
  issues: readonly Issue[],
  context: ImpactContext,
  standing: readonly Standing[],
): CheckedChoice[] {
  const byKey = new Map(issues.map((issue) => [issue.key, issue]))
  const problems: ResolutionProblem[] = []
  const checked: CheckedChoice[] = []
  for (const choice of choices) {
    const found = checkOne(choice, composition, byKey.get(choice.issueKey), context)
    if (Array.isArray(found)) problems.push(...found)
    else checked.push(found)
  }
  problems.push(...conflicts(checked, composition, standing))
  if (problems.length > 0) throw new ResolutionsInvalidError(problems.toSorted((a, b) => a.index - b.index))
  return checked
}

function checkOne(
  choice: Choice,
  composition: Composition,
  issue: Issue | undefined,
  context: ImpactContext,
): CheckedChoice | ResolutionProblem[] {
  const { index, actionType } = choice
  if (issue === undefined) return [problem(index, ['issueCode'], 'issue_not_open', NO_SUCH_ISSUE)]
  const action = composition.actions.get(actionType)
  if (action === undefined)
    return [problem(index, ['chosenActionType'], 'handler_not_registered', `Nobody here carries out "${actionType}".`)]
  if (issue.availableActions.every((offer) => offer.actionType !== actionType)) {
    const offered = issue.availableActions.map((offer) => offer.actionType).join(', ')
    const message = `This action is not offered for this issue. ${offered === '' ? 'Edit the draft instead.' : `Offered: ${offered}.`}`
    return [problem(index, ['chosenActionType'], 'action_not_offered', message)]
  }
  if (action.requiresAffectedEntity && choice.affectedEntityId === null)
    return [
      problem(index, ['affectedEntityId'], 'affected_entity_required', 'This action needs to know what it is about.'),
    ]
  const { payload, problems } = parsePayload(action, choice.payload)
  const wrong = problems.length > 0 ? problems : action.check(payload, issue, context)
  return wrong.length > 0 ? wrong.map((one) => ofPayload(index, one)) : { ...choice, issue, action }
}

/** What one exclusive action leaves no room for (C28). */
function conflicts(
  checked: readonly CheckedChoice[],
  composition: Composition,
  standing: readonly Standing[],
): ResolutionProblem[] {
  const message = 'Another resolution is about the same thing, and one of the two bears no other. Choose one.'
  return checked.flatMap((choice) => {
    if (choice.affectedEntityId === null) return []
    const sameEntity = (other: { affectedEntityId: string | null; issueKey: string }) =>
      other.affectedEntityId === choice.affectedEntityId && other.issueKey !== choice.issueKey
    const inBatch = checked.filter(sameEntity)
    const before = standing.filter(
      (other) => sameEntity(other) && inBatch.every(({ issueKey: key }) => key !== other.issueKey),
    )
    const clash =
      inBatch.some((other) => other.action.exclusive || choice.action.exclusive) ||
      before.some(
        (other) =>
          // What is done already comes first, and an exclusive action may follow it; nothing may follow that.
          composition.actions.get(other.actionType)?.exclusive === true ||
          (choice.action.exclusive && other.status !== 'COMPLETED'),
      )
    return clash ? [problem(choice.index, ['chosenActionType'], 'target_conflict', message)] : []
  })
}

const NO_SUCH_ISSUE = 'The draft has no such issue now. Evaluate it and choose from what is there.'

const problem = (index: number, path: readonly string[], name: string, message: string): ResolutionProblem => ({
  index,
  path: ['resolutions', String(index), ...path],
  code: `orgmodel.resolution.${name}`,
  message,
})

const ofPayload = (index: number, { code, path, message }: PayloadProblem): ResolutionProblem => ({
  index,
  path: ['resolutions', String(index), 'actionPayload', ...path.map(String)],
  code,
  message,
})
