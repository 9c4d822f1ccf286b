import { isBlocking } from './judge.ts'
import type { Issue } from './issue.ts'

/** Why a draft cannot be activated, with the issues to look at. */
export interface ActivationObstacle {
  readonly code: string
  readonly issueKeys: readonly string[]
}

/** Whether a draft can be activated, never as a bare yes or no. */
export interface Activatability {
  readonly canActivate: boolean
  readonly reasons: readonly ActivationObstacle[]
  readonly evaluatedAt: Date | null
  /** Something the evaluation depends on has moved since; only when it was not to be brought up to date. */
  readonly stale: boolean
}

export const BLOCKING_ISSUES = 'orgmodel.version.blocking_issues_not_resolved'

// Issues of the draft as a whole that have a name of their own among the reasons.
const NAMED: Readonly<Record<string, string>> = {
  'model.no_changes': 'orgmodel.version.no_changes',
  'model.base_outdated': 'orgmodel.version.base_outdated',
  'evaluator.failed': 'orgmodel.version.evaluation_failed',
}

/** @param inFlight keys of issues whose resolution is waiting or running */
export function obstacles(issues: readonly Issue[], inFlight: ReadonlySet<string>): ActivationObstacle[] {
  const reasons = new Map<string, string[]>()
  const add = (code: string, key: string) => reasons.set(code, [...(reasons.get(code) ?? []), key])
  for (const issue of issues.filter(isBlocking)) add(NAMED[issue.code] ?? BLOCKING_ISSUES, issue.key)
  // Implied by the above for what blocks; said apart because the next step is to wait, not to choose.
  for (const { key } of issues) if (inFlight.has(key)) add('orgmodel.version.resolutions_in_flight', key)
  return [...reasons].map(([code, issueKeys]) => ({ code, issueKeys }))
}
