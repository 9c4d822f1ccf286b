import type { ImpactContext } from './context.ts'
import type { Finding, IssueCode } from './issue.ts'

/**
 * Looks for one kind of trouble that a draft's activation would cause. A pure function over its context: no
 * database, no clock, no memory, so the same inputs always give the same findings. It always reports; whether an
 * issue counts as resolved is decided for all evaluators in one place (C13).
 */
export interface Evaluator {
  /** Unique, snake_case; the entity of `evaluator.failed` when it does not do its work. */
  readonly code: string
  /** Raise it when the same inputs may give other findings: completed resolutions then open again (C11). */
  readonly version: number
  /** Every code it may report. A code belongs to one evaluator. */
  readonly codes: Readonly<Record<string, IssueCode>>
  /** Every action it may propose; each must be composed beside it. */
  readonly proposes: readonly string[]
  evaluate(context: ImpactContext, signal: AbortSignal): readonly Finding[] | Promise<readonly Finding[]>
}
