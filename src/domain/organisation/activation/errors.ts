import { ConflictError, UserError } from '../../../errors/index.ts'
import { BLOCKING_ISSUES } from '../impact/can-activate.ts'
import type { Issue } from '../impact/issue.ts'

/** What keeps a draft from being activated. */
export type BlockingIssue = Pick<Issue, 'key' | 'code' | 'message'>

/** Issues without a completed resolution that fits them; the draft is as it was. */
export class BlockingIssuesError extends UserError {
  readonly code = BLOCKING_ISSUES
  readonly issues: readonly BlockingIssue[]

  constructor(issues: readonly BlockingIssue[]) {
    const one = issues.length === 1
    super(
      `${one ? 'One issue keeps' : `${issues.length} issues keep`} the draft from being activated. Resolve ${one ? 'it' : 'them'} first.`,
    )
    this.issues = issues
  }
}

/** What a resolution prepared no longer fits; nothing was activated. */
export class StagedEffectConflictError extends ConflictError {
  readonly conflicts: readonly StagedEffectConflict[]

  constructor(conflicts: readonly StagedEffectConflict[]) {
    super(
      `${conflicts.length === 1 ? 'One prepared change no longer fits' : `${conflicts.length} prepared changes no longer fit`} what it was made for. Evaluate the draft and choose again for these.`,
      { code: 'orgmodel.version.staged_effect_conflict' },
    )
    this.conflicts = conflicts
  }
}

export interface StagedEffectConflict {
  readonly resolutionId: string
  readonly summary: string
  readonly reason: string
}
