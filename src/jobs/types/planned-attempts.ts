import type { TypePolicy } from './read-types.ts'

/** When an attempt may begin, counted from the begin of the first one as if attempts themselves took no time. */
export interface PlannedAttempt {
  /** From 1. */
  readonly attempt: number
  /** Milliseconds with all of the random part off, and with none of it. */
  readonly earliestMs: number
  readonly latestMs: number
}

/**
 * The schedule of a job's attempts if each of them fails in the ordinary way (transient). It ends with the attempts or
 * with the longest time in all, whichever comes first: an attempt that can only begin later is left out. Pure.
 */
export function plannedAttempts(
  policy: Pick<TypePolicy, 'maxAttempts' | 'delaysMs' | 'jitter' | 'maxElapsedMs' | 'rules'>,
): PlannedAttempt[] {
  const rule = policy.rules['TRANSIENT']
  const most = Math.min(policy.maxAttempts, rule?.maxAttempts ?? policy.maxAttempts)
  const delays = rule?.delaysMs ?? policy.delaysMs
  const planned: PlannedAttempt[] = [{ attempt: 1, earliestMs: 0, latestMs: 0 }]
  for (let { earliestMs, latestMs } = planned[0]!, attempt = 2; attempt <= most; attempt++) {
    const delay = delays[Math.min(attempt - 1, delays.length) - 1] ?? 0
    earliestMs += Math.round(delay * (1 - policy.jitter))
    latestMs += delay
    if (policy.maxElapsedMs !== null && earliestMs > policy.maxElapsedMs) break
    planned.push({ attempt, earliestMs, latestMs })
  }
  return planned
}
