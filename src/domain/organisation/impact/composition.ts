import type { AnyResolutionAction } from '../resolutions/action.ts'
import type { Evaluator } from './evaluator.ts'
import { canonicalJson, sha256 } from '../model/canonical.ts'
import { isIssueCode, type IssueCode } from './issue.ts'

/** Codes that the pipeline itself reports. */
export const PIPELINE_CODES = {
  'evaluator.failed': {
    severity: 'BLOCKING',
    entity: 'EVALUATOR',
    description: 'An evaluator did not do its work, so nobody knows whether the draft is safe. Evaluate again.',
  },
} as const satisfies Record<string, IssueCode>

/** The evaluators and actions that this process knows, checked against each other. */
export interface Composition {
  readonly evaluators: readonly Evaluator[]
  readonly actions: ReadonlyMap<string, AnyResolutionAction>
  readonly codes: ReadonlyMap<string, IssueCode>
  /** Of all evaluators with their versions and all actions: an evaluation made by others is not ours (P12). */
  readonly hash: string
}

/**
 * Puts evaluators and actions together at start-up.
 * @throws Error when one is there twice (C21), a code has two owners, or a proposed action has no handler.
 */
export function compose(parts: {
  readonly evaluators: readonly Evaluator[]
  readonly actions: readonly AnyResolutionAction[]
}): Composition {
  const actions = unique('resolution action', parts.actions, (action) => action.actionType)
  const evaluators = unique('evaluator', parts.evaluators, (evaluator) => evaluator.code)
  const codes = unique(
    'issue code',
    [PIPELINE_CODES, ...parts.evaluators.map((evaluator) => evaluator.codes)].flatMap((some) => Object.entries(some)),
    ([code]) => code,
  )
  for (const code of codes.keys()) if (!isIssueCode(code)) throw new Error(`"${code}" is not an issue code.`)
  for (const { code, proposes } of parts.evaluators)
    for (const actionType of proposes)
      if (!actions.has(actionType))
        throw new Error(`The evaluator "${code}" proposes the action "${actionType}", which nobody carries out.`)
  return {
    evaluators: [...evaluators.values()].toSorted((a, b) => (a.code < b.code ? -1 : 1)),
    actions,
    codes: new Map([...codes].map(([code, [, declared]]) => [code, declared])),
    hash: sha256(
      canonicalJson({
        evaluators: [...evaluators.values()].map(({ code, version }) => `${code}@${version}`).toSorted(),
        actions: [...actions.keys()].toSorted(),
      }),
    ),
  }
}

function unique<Part>(what: string, parts: readonly Part[], nameOf: (part: Part) => string): Map<string, Part> {
  const byName = new Map<string, Part>()
  for (const part of parts) {
    const name = nameOf(part)
    if (byName.has(name)) throw new Error(`Two of the composed parts are the ${what} "${name}".`)
    byName.set(name, part)
  }
  return byName
}
