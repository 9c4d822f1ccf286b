import { createHash } from 'node:crypto'
import { ValidationError } from '../errors/index.ts'
import type { ErrorRule, JobClass, JobDefinition, JobPolicy } from './definition.ts'

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
export type PolicyOwner = Pick<JobDefinition<never>, 'type' | 'class' | 'policy' | 'timeoutMs' | 'idempotency'>

/** A policy that a job may not have: nothing was written. `message` says what its type allows. */
export class PolicyRefusedError extends ValidationError {
  constructor(type: string, problems: readonly string[]) {
    super(`The job "${type}" cannot have this policy: ${problems.join(' ')}`, { code: 'job.policy_refused' })
  }
}

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

/** The most attempts that a job of the type may have. */
export const ceilingOf = (definition: PolicyOwner): number =>
  definition.policy?.ceiling ?? policyOf(definition).maxAttempts

/**
 * The policy of a job that has one of its own, within its type's ceiling.
 *
 * @throws PolicyRefusedError
 */
export function policyOfJob(definition: PolicyOwner, own: JobPolicy): Policy {
  const ofType = policyOf(definition)
  const maxElapsedMs = own.maxElapsedMs ?? ofType.maxElapsedMs
  const policy: Policy = {
    ...ofType,
    maxAttempts: own.maxAttempts ?? ofType.maxAttempts,
    delaysMs: own.delaysMs ?? ofType.delaysMs,
    jitter: own.jitter ?? ofType.jitter,
    ...(maxElapsedMs === undefined ? {} : { maxElapsedMs }),
  }
  const problems = planProblems(policy)
  const ceiling = ceilingOf(definition)
  if (policy.maxAttempts > ceiling)
    problems.push(`maxAttempts is ${policy.maxAttempts}; jobs of this type have at most ${ceiling}.`)
  if (ofType.maxElapsedMs !== undefined && maxElapsedMs! > ofType.maxElapsedMs)
    problems.push(`maxElapsedMs is ${maxElapsedMs}; jobs of this type have at most ${ofType.maxElapsedMs}.`)
  if (problems.length > 0) throw new PolicyRefusedError(definition.type, problems)
  return policy
}

/** What is wrong with a type's policy, in sentences; empty when start-up may accept it (J22, J25). */
export function policyProblems(definition: PolicyOwner): string[] {
  const policy = policyOf(definition)
  const ceiling = ceilingOf(definition)
  const most = RETRY_MATRIX[definition.class].maxAttempts
  const problems = planProblems(policy)
  if (!Number.isInteger(ceiling) || ceiling < policy.maxAttempts || ceiling > MOST_ATTEMPTS)
    problems.push(
      `policy.ceiling is ${ceiling}; give a whole number from its own ${policy.maxAttempts} to ${MOST_ATTEMPTS}.`,
    )
  if (ceiling > most && blank(definition.policy?.motivation))
    problems.push(
      `it asks for up to ${ceiling} attempts where the class ${definition.class} has ${most}. ` +
        'Stay within the class or say why in policy.motivation.',
    )
  if (ceiling > 1 && blank(definition.idempotency))
    problems.push(
      `it may be tried ${ceiling} times but does not say why a second run does no harm. ` +
        'Say so in one sentence in `idempotency`, or set policy.maxAttempts to 1.',
    )
  if (!Number.isInteger(policy.timeoutMs) || policy.timeoutMs < 1 || policy.timeoutMs > LONGEST_MS)
    problems.push(`timeoutMs is ${policy.timeoutMs}; give whole milliseconds from 1 to ${LONGEST_MS}.`)
  for (const [errorClass, rule] of Object.entries(policy.rules ?? {}))
    problems.push(...ruleProblems(errorClass, rule, policy.maxAttempts))
  return problems
}

/** What is wrong with when and how often, be it a type's or a job's own. */
function planProblems({ maxAttempts, delaysMs, jitter, maxElapsedMs }: Policy): string[] {
  const problems: string[] = []
  if (!Number.isInteger(maxAttempts) || maxAttempts < 1 || maxAttempts > MOST_ATTEMPTS)
    problems.push(
      `maxAttempts is ${maxAttempts}; it counts the first attempt: a whole number from 1 to ${MOST_ATTEMPTS}.`,
    )
  if (maxAttempts > 1 && delaysMs.length === 0)
    problems.push('it may be tried again but has no delay. Give policy.delaysMs.')
  if (!delaysMs.every(isDelay))
    problems.push(`policy.delaysMs holds something else than whole milliseconds from 0 to ${LONGEST_MS}.`)
  if (!(jitter >= 0 && jitter <= 1)) problems.push(`policy.jitter is ${jitter}; it goes from 0 to 1.`)
  if (maxElapsedMs !== undefined && (!Number.isSafeInteger(maxElapsedMs) || maxElapsedMs < 1))
    problems.push(`policy.maxElapsedMs is ${maxElapsedMs}; give whole milliseconds from 1, or leave it out.`)
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

// The column is a smallint that also counts the attempts before an operator's retry.
const MOST_ATTEMPTS = 1_000

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
