import type { FailureClass } from '../../errors/index.ts'
import type { TypePolicy } from './read-types.ts'

/** When an attempt may begin, counted from the begin of the first one. */
export interface PlannedAttempt {
  /** From 1. */
  readonly attempt: number
  /** Milliseconds with all of the random part off, and with none of it. */
  readonly earliestMs: number
  readonly latestMs: number
}

/** What becomes of a job whose attempts all fail in one way. */
export interface PolicyPreview {
  readonly failureClass: FailureClass
  readonly attempts: readonly PlannedAttempt[]
  readonly status: 'FAILED' | 'CANCELLED'
  /** Why there is no further attempt, as the last one's reason says; null when somebody cancelled the job. */
  readonly reason: 'policy.permanent' | 'policy.attempts_used' | 'policy.max_elapsed' | 'policy.lost_cap' | null
}

type Plan = Pick<TypePolicy, 'maxAttempts' | 'maxLost' | 'delaysMs' | 'jitter' | 'timeoutMs' | 'maxElapsedMs' | 'rules'>

const RETRIED: ReadonlySet<FailureClass> = new Set(['TRANSIENT', 'THROTTLED', 'TIMEOUT', 'LOST'])
const CLASSES: readonly FailureClass[] = ['PERMANENT', 'TRANSIENT', 'THROTTLED', 'TIMEOUT', 'LOST', 'CANCELLED']

/**
 * The schedule that a policy makes for each class of error, before there are any attempts; `SETTLE` decides the same
 * from the job's row (test/jobs/policy-preview.test.ts compares them). An attempt that times out takes the whole
 * time-out, one of another class no time at all. A wait that an error asks for itself counts instead, and is not
 * foreseen here. Pure.
 */
export const policyPreview = (plan: Plan): PolicyPreview[] =>
  CLASSES.map((failureClass) => (RETRIED.has(failureClass) ? retried(plan, failureClass) : final(failureClass)))

const FIRST: PlannedAttempt = { attempt: 1, earliestMs: 0, latestMs: 0 }

const final = (failureClass: FailureClass): PolicyPreview => ({
  failureClass,
  attempts: [FIRST],
  status: failureClass === 'CANCELLED' ? 'CANCELLED' : 'FAILED',
  reason: failureClass === 'CANCELLED' ? null : 'policy.permanent',
})

function retried(plan: Plan, failureClass: FailureClass): PolicyPreview {
  const rule = plan.rules[failureClass]
  const most = Math.min(plan.maxAttempts, rule?.maxAttempts ?? plan.maxAttempts)
  const delays = rule?.delaysMs ?? plan.delaysMs
  const tookMs = failureClass === 'TIMEOUT' ? plan.timeoutMs : 0
  const longestMs = plan.maxElapsedMs ?? Infinity
  const attempts = [FIRST]
  const ended = (reason: PolicyPreview['reason']): PolicyPreview => ({
    failureClass,
    attempts,
    status: 'FAILED',
    reason,
  })
  for (let { attempt, earliestMs, latestMs } = FIRST; ; attempts.push({ attempt, earliestMs, latestMs })) {
    if (failureClass === 'LOST' && attempt > plan.maxLost) return ended('policy.lost_cap')
    if (attempt >= most) return ended('policy.attempts_used')
    const delayMs = delays[Math.min(attempt, delays.length) - 1] ?? 0
    attempt++
    earliestMs += tookMs + Math.round(delayMs * (1 - plan.jitter))
    // One that would begin later is not made.
    latestMs = Math.min(latestMs + tookMs + delayMs, longestMs)
    if (earliestMs > longestMs) return ended('policy.max_elapsed')
  }
}
