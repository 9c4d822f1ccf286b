import { whatChanged } from './fingerprint.ts'
import type { Issue, IssueBasis } from './issue.ts'
import { PIPELINE_CODES } from './composition.ts'
import type { BareIssue } from './pipeline.ts'

/** A completed resolution as the evaluation needs to know it. */
export interface CompletedResolution {
  readonly id: string
  readonly submissionNo: number
  readonly issueKey: string
  readonly fingerprint: string
  readonly basis: IssueBasis
  readonly effect: 'IMMEDIATE' | 'STAGED' | 'ACKNOWLEDGE'
}

export type Issues = ReadonlyMap<string, BareIssue>

/** Those that were made for the very problems there are now; the others are inert, and so are their effects. */
export function inForce(live: Issues, completed: readonly CompletedResolution[]): CompletedResolution[] {
  return completed.filter(({ issueKey, fingerprint }) => live.get(issueKey)?.fingerprint === fingerprint)
}

/**
 * What is resolved and what is not. `live` are the issues as things stand, `projected` those that are left once
 * the effects in force are applied: a repair counts because the problem is gone, not because somebody said so.
 * Only an acknowledgement is taken at its word. One place for all evaluators (C13).
 */
export function judge(live: Issues, projected: Issues, completed: readonly CompletedResolution[]): Issue[] {
  const byKey = new Map(completed.map((resolution) => [resolution.issueKey, resolution]))
  const judged = [...live.values()].map((issue): Issue => {
    const resolution = byKey.get(issue.key)
    const fits = resolution?.fingerprint === issue.fingerprint
    const by = (state: Issue['state'], staleReason: Issue['staleReason'] = null): Issue => ({
      ...issue,
      state,
      resolutionId: resolution === undefined ? null : resolution.id,
      staleReason,
    })
    if (issue.code in PIPELINE_CODES) return by('OPEN')
    if (!projected.has(issue.key)) return by('RESOLVED')
    if (resolution === undefined) return by('OPEN')
    if (!fits) return by('STALE', whatChanged(resolution.basis, issue.basis))
    return by(resolution.effect === 'ACKNOWLEDGE' ? 'RESOLVED' : 'INEFFECTIVE')
  })
  const caused = [...projected.values()].filter(({ key }) => !live.has(key))
  return [
    ...judged,
    ...caused.map((issue): Issue => ({ ...issue, state: 'OPEN', resolutionId: null, staleReason: null })),
  ]
}

export const isBlocking = (issue: Pick<Issue, 'severity' | 'state'>): boolean =>
  issue.severity === 'BLOCKING' && issue.state !== 'RESOLVED'
