import type { Tx } from '../../../database/index.ts'
import { downstreamClock } from '../clock.ts'
import type { Composition } from './composition.ts'
import { evaluate } from './evaluation.ts'
import {
  evaluationWith,
  issuesOf,
  keepEvaluation,
  type Evaluation,
  type EvaluationInputs,
  type EvaluationTrigger,
} from './evaluation-store.ts'
import type { Issue } from './issue.ts'
import { loadContext, type Compared } from './load-context.ts'

export interface EvaluationWithIssues {
  readonly evaluation: Evaluation
  readonly issues: readonly Issue[]
}

/**
 * The evaluation of the draft as it is now: the kept one when nothing that it depends on has moved, else a new
 * one, which is kept. The caller holds the versions; whoever decides by it holds the clock too.
 */
export async function freshEvaluation(
  tx: Tx,
  composition: Composition,
  versions: Compared,
  trigger: EvaluationTrigger,
): Promise<EvaluationWithIssues> {
  // Before anything else is read: if downstream moves meanwhile, what follows is filed under a revision that is
  // over, where nobody looks for it.
  const inputs = await inputsOf(tx, composition, versions)
  const kept = await evaluationWith(tx, inputs)
  if (kept !== null) return { evaluation: kept, issues: await issuesOf(tx, kept.id) }
  const evaluated = await evaluate(tx, composition, await loadContext(tx, versions))
  const evaluation = await keepEvaluation(tx, inputs, trigger, evaluated)
  return { evaluation, issues: await issuesOf(tx, evaluation.id) }
}

export async function inputsOf(tx: Tx, composition: Composition, { draft }: Compared): Promise<EvaluationInputs> {
  const clock = await downstreamClock(tx, 'read')
  return {
    versionId: draft.id,
    contentRevision: draft.contentRevision,
    downstreamRevision: clock.revision,
    peopleRevision: clock.peopleRevision,
    registryHash: composition.hash,
  }
}
