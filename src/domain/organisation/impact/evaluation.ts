import type { Tx } from '../../../database/index.ts'
import type { ConditionTree } from '../../conditions/index.ts'
import { canonicalJson, type Json } from '../model/canonical.ts'
import { audienceCount } from '../personas/audience.ts'
import type { Situation } from '../resolutions/action.ts'
import { completedResolutions, stagedEffects } from '../resolutions/completed.ts'
import type { StagedEffect } from '../resolutions/staged-effect.ts'
import { project } from '../resolutions/targets.ts'
import type { Composition } from './composition.ts'
import { resolvedBy, type ImpactContext } from './context.ts'
import type { ActionOffer, Issue } from './issue.ts'
import { inForce, isBlocking, judge, type CompletedResolution } from './judge.ts'
import type { BareIssue, EvaluatorRun } from './pipeline.ts'
import { runEvaluators } from './pipeline.ts'

/** What a draft would do: computed, not yet kept. */
export interface Evaluated {
  readonly issues: readonly Issue[]
  readonly runs: readonly EvaluatorRun[]
}

/**
 * Evaluates a draft: once as things stand, which tells the problems, and once with the effects in force applied,
 * which tells those that are left.
 */
export async function evaluate(tx: Tx, composition: Composition, context: ImpactContext): Promise<Evaluated> {
  const live = await runEvaluators(composition, context)
  const completed = await completedResolutions(tx, context.draftVersionId)
  const counting = inForce(live.issues, completed)
  const effects = effectsOf(counting, await stagedEffects(tx, context.draftVersionId))
  const projected =
    counting.length === 0 ? live : await runEvaluators(composition, withEffects(context, effects, counting))
  const situation = situationOf(tx, context)
  const judged = judge(live.issues, projected.issues, completed)
  const issues: Issue[] = []
  for (const [place, issue] of judged.entries())
    issues.push({ ...issue, availableActions: await withSuggestions(composition, issue, situation, place) })
  return { issues, runs: live.runs }
}

/** Effects of the completed resolutions that still fit one of these issues: those that an activation applies. */
export async function effectsInForce(
  tx: Tx,
  draftVersionId: string,
  issues: readonly BareIssue[],
): Promise<StagedEffect[]> {
  const live = new Map(issues.map((issue) => [issue.key, issue]))
  const counting = inForce(live, await completedResolutions(tx, draftVersionId, [...live.keys()]))
  if (counting.length === 0) return []
  const ids = counting.map(({ id }) => id)
  return effectsOf(counting, await stagedEffects(tx, draftVersionId, ids))
}

/** The context as it will be, with what is resolved counting as resolved. */
export function withEffects(
  context: ImpactContext,
  effects: readonly StagedEffect[],
  counting: readonly Pick<CompletedResolution, 'issueKey'>[],
): ImpactContext {
  const keys = new Set(counting.map(({ issueKey }) => issueKey))
  return {
    ...project(context, effects),
    stagedEffects: effects,
    completedResolutionKeys: keys,
    isResolved: resolvedBy(keys),
  }
}

const effectsOf = (resolutions: readonly CompletedResolution[], effects: readonly StagedEffect[]): StagedEffect[] => {
  const submissions = new Map(resolutions.map(({ id, submissionNo }) => [id, submissionNo]))
  return effects.filter(({ resolutionId, submissionNo }) => submissions.get(resolutionId) === submissionNo)
}

/** The context with what an action may ask of the database. Audiences are counted once each. */
export function situationOf(tx: Tx, context: ImpactContext): Situation {
  const counts = new Map<string, Promise<number>>()
  return {
    context,
    countAudience(filter: ConditionTree) {
      const key = canonicalJson(filter as unknown as Json)
      let count = counts.get(key)
      // By the active model: what is left of a filter is valid there, and people hold what it knows.
      if (count === undefined) counts.set(key, (count = audienceCount(tx, { ...ANYONE, filter }, context.active)))
      return count
    },
  }
}

// A filter by itself: whose it is only matters to messages.
const ANYONE = { id: '', name: '', kind: 'DYNAMIC' } as const

// A suggestion may count an audience, some milliseconds each. Nobody reads a form for more issues than this at
// once; beyond it the form starts empty.
const MOST_SUGGESTED = 200

async function withSuggestions(
  composition: Composition,
  issue: BareIssue,
  situation: Situation,
  place: number,
): Promise<readonly ActionOffer[]> {
  if (place >= MOST_SUGGESTED) return issue.availableActions
  const offers: ActionOffer[] = []
  for (const offer of issue.availableActions) {
    const defaultPayload = (await composition.actions.get(offer.actionType)?.suggest?.(issue, situation)) ?? null
    offers.push({ ...offer, defaultPayload })
  }
  return offers
}

/** How many issues of each kind an evaluation found. */
export const countsOf = (issues: readonly Issue[]) => ({
  blockingCount: issues.filter(isBlocking).length,
  warningCount: issues.filter(({ severity, state }) => severity === 'WARNING' && state !== 'RESOLVED').length,
  infoCount: issues.filter(({ severity, state }) => severity === 'INFO' && state !== 'RESOLVED').length,
  resolvedCount: issues.filter(({ state }) => state === 'RESOLVED').length,
})
