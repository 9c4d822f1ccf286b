import { createHash } from 'node:crypto'
import type { ErrorRule, JobClass, JobDefinition } from './definition.ts'

/** How often and how long a job may be tried; what the rows of `job_policy` hold. */
export interface Policy {
  readonly class: JobClass
  /** Attempts in all, the first included (J18). */
  readonly maxAttempts: number
  /** How many attempts may end with the death of their worker before the job counts as a poison pill. */
  readonly maxLost: number
  /** `delaysMs[i]` is the wait after attempt i + 1; the last one repeats. */
  readonly delaysMs: readonly number[]
  /** 0 to 1: how much of a delay is random, so that what failed together does not come back together. */
  readonly jitter: number
  readonly timeoutMs: number
  /** Longest time from the begin of a window's first attempt to the begin of another; left out: no limit. */
  readonly maxElapsedMs?: number
  /** What differs per class of error; left out: nothing. */
  readonly rules?: Readonly<Record<string, ErrorRule>>
}

/** What of a definition its policy is made of. */
type PolicyOwner = Pick<JobDefinition<never>, 'class' | 'policy' | 'timeoutMs' | 'idempotency'>

const MINUTE = 60_000
const HOUR = 60 * MINUTE

/**
 * The retry matrix of the seed (chapter 18, J17–J26). A list of delays may be longer than the attempts use:
 * the attempts include the first, so mail waits four times, never the 24 hours (K1).
 */
export const RETRY_MATRIX: Readonly<
  Record<JobClass, { readonly maxAttempts: number; readonly delaysMs: readonly number[] }>
> = {
  PERIODIC_CHECK: { maxAttempts: 2, delaysMs: [5 * MINUTE] },
  MAINTENANCE: { maxAttempts: 2, delaysMs: [10 * MINUTE] },
  FOLLOW_UP: { maxAttempts: 3, delaysMs: [5 * MINUTE, 30 * MINUTE, 2 * HOUR] },
  DELAYED: { maxAttempts: 3, delaysMs: [5 * MINUTE, 30 * MINUTE, 2 * HOUR] },
  MAIL_DELIVERY: { maxAttempts: 5, delaysMs: [5 * MINUTE, 15 * MINUTE, 1 * HOUR, 6 * HOUR, 24 * HOUR] },
  RECOVERY: { maxAttempts: 1, delaysMs: [] },
  READ_MODEL: { maxAttempts: 3, delaysMs: [1 * MINUTE, 5 * MINUTE, 15 * MINUTE] },
}

const JITTER = 0.1
const MAX_LOST = 2

/** The policy of a job type: its class's row of the matrix, with the type's own deviations over it. */
export function policyOf(definition: PolicyOwner): Policy {
  const row = RETRY_MATRIX[definition.class]
  const own = definition.policy ?? {}
  return {
    class: definition.class,
    maxAttempts: own.maxAttempts ?? row.maxAttempts,
    maxLost: own.maxLost ?? MAX_LOST,
    delaysMs: own.delaysMs ?? row.delaysMs,
    jitter: own.jitter ?? JITTER,
    timeoutMs: definition.timeoutMs,
    ...(own.maxElapsedMs === undefined ? {} : { maxElapsedMs: own.maxElapsedMs }),
    ...(own.rules === undefined || Object.keys(own.rules).length === 0 ? {} : { rules: own.rules }),
  }
}

/** What is wrong with a type's policy, in sentences; empty when start-up may accept it (J22, J25). */
export function policyProblems(definition: PolicyOwner): string[] {
  const policy = policyOf(definition)
  const most = RETRY_MATRIX[definition.class].maxAttempts
  const problems: string[] = []
  if (!Number.isInteger(policy.maxAttempts) || policy.maxAttempts < 1)
    problems.push(`maxAttempts is ${policy.maxAttempts}; it counts the first attempt, so give a whole number from 1.`)
  if (policy.maxAttempts > most && blank(definition.policy?.motivation))
    problems.push(
      `it asks for ${policy.maxAttempts} attempts where the class ${definition.class} has ${most}. ` +
        'Stay within the class or say why in policy.motivation.',
    )
  if (policy.maxAttempts > 1 && blank(definition.idempotency))
    problems.push(
      `it may be tried ${policy.maxAttempts} times but does not say why a second run does no harm. ` +
        'Say so in one sentence in `idempotency`, or set policy.maxAttempts to 1.',
    )
  if (policy.maxAttempts > 1 && policy.delaysMs.length === 0)
    problems.push('it may be tried again but has no delay. Give policy.delaysMs.')
  if (!policy.delaysMs.every(isDelay))
    problems.push(`policy.delaysMs holds something else than whole milliseconds from 0 to ${LONGEST_MS}.`)
  if (!(policy.jitter >= 0 && policy.jitter <= 1))
    problems.push(`policy.jitter is ${policy.jitter}; it goes from 0 to 1.`)
  if (!Number.isInteger(policy.timeoutMs) || policy.timeoutMs < 1 || policy.timeoutMs > LONGEST_MS)
    problems.push(`timeoutMs is ${policy.timeoutMs}; give whole milliseconds from 1 to ${LONGEST_MS}.`)
  if (policy.maxElapsedMs !== undefined && (!Number.isSafeInteger(policy.maxElapsedMs) || policy.maxElapsedMs < 1))
    problems.push(`policy.maxElapsedMs is ${policy.maxElapsedMs}; give whole milliseconds from 1, or leave it out.`)
  for (const [errorClass, rule] of Object.entries(policy.rules ?? {}))
    problems.push(...ruleProblems(errorClass, rule, policy.maxAttempts))
  return problems
}

function ruleProblems(errorClass: string, rule: ErrorRule, most: number): string[] {
  const name = `policy.rules.${errorClass}`
  if (!RULED.includes(errorClass)) return [`${name} is for no class of error that is retried: ${RULED.join(', ')}.`]
  const problems: string[] = []
  const { maxAttempts, delaysMs } = rule
  if (maxAttempts !== undefined && !(Number.isInteger(maxAttempts) && maxAttempts >= 1 && maxAttempts <= most))
    problems.push(`${name}.maxAttempts is ${maxAttempts}; give a whole number from 1 to the policy's own ${most}.`)
  if (delaysMs !== undefined && (delaysMs.length === 0 || !delaysMs.every(isDelay)))
    problems.push(`${name}.delaysMs must hold whole milliseconds from 0 to ${LONGEST_MS}, at least one.`)
  return problems
}

const RULED: readonly string[] = ['TRANSIENT', 'THROTTLED', 'TIMEOUT', 'LOST']

const isDelay = (delay: number): boolean => Number.isInteger(delay) && delay >= 0 && delay <= LONGEST_MS

// Longest delay of a Node timer and of a PostgreSQL integer: 24.8 days.
const LONGEST_MS = 2 ** 31 - 1

const blank = (text: string | undefined): boolean => text === undefined || text.trim() === ''

/**
 * The policy's id: the first eight bytes of the hash of its content. Two processes with different releases thus
 * agree without asking, and a changed policy is another row while waiting jobs keep theirs.
 */
export function policyId(policy: Policy): string {
  const content = JSON.stringify([
    policy.class,
    policy.maxAttempts,
    policy.maxLost,
    policy.delaysMs,
    policy.jitter,
    policy.timeoutMs,
    // Added later: a policy without them keeps the id that it has had.
    ...(policy.maxElapsedMs === undefined && policy.rules === undefined
      ? []
      : [policy.maxElapsedMs ?? null, sortedRules(policy.rules ?? {})]),
  ])
  return createHash('sha256').update(content).digest().readBigInt64BE(0).toString()
}

/** The order in which somebody wrote the rules down is no part of the policy. */
const sortedRules = (rules: Readonly<Record<string, ErrorRule>>) =>
  Object.keys(rules)
    .sort()
    .map((errorClass) => [errorClass, rules[errorClass]!.maxAttempts ?? null, rules[errorClass]!.delaysMs ?? null])
