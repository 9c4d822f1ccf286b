import type { z } from 'zod'
import type { SystemTx, Tx } from '../database/index.ts'
import type { FailureClass } from '../errors/index.ts'
import type { JobLogger } from './job-logger.ts'

/** The seven rows of the retry matrix (policy.ts). A job type belongs to one of them. */
export type JobClass =
  | 'PERIODIC_CHECK'
  | 'MAINTENANCE'
  | 'FOLLOW_UP'
  | 'DELAYED'
  | 'MAIL_DELIVERY'
  | 'RECOVERY'
  | 'READ_MODEL'

/** The six states of a job (seed: background jobs, lifecycle). */
export type JobStatus = 'SCHEDULED' | 'PROCESSING' | 'SUCCEEDED' | 'RETRY_SCHEDULED' | 'FAILED' | 'CANCELLED'

/**
 * One job type: what its payload is, how often it may be tried and the functions that do the work. Written by
 * the domain that owns the action and handed to the engine in a list; the engine touches no domain table.
 */
export interface JobDefinition<Payload> {
  /** Unique and dotted: `orgmodel.resolution`. */
  readonly type: string
  readonly class: JobClass
  /** Checked when enqueued and again when run. Identifiers and parameters only, no secret, at most 64 KiB. */
  readonly payload: z.ZodType<Payload>
  /**
   * Rises when the payload's shape changes in a way that `payload` no longer reads. Default 1. A job is claimed only
   * by workers that know its version or a newer one.
   */
  readonly payloadVersion?: number
  /** `upcasters[n]` makes a payload of version n one of version n + 1; all from 1 to `payloadVersion` − 1. */
  readonly upcasters?: Readonly<Record<number, (payload: unknown) => unknown>>
  /** Deviation from the class's policy. A wider limit needs a motivation, else start-up refuses the type (J25). */
  readonly policy?: PolicyOverride
  /** How many may run at once, and how fast (J59–J61). Default: no limit but the workers' own. */
  readonly limits?: JobLimits
  /**
   * The outside service that the type depends on: the name of its circuit breaker. A function when it depends on
   * the payload (the host of a request). A type with a dependency has a breaker; others have none.
   */
  readonly dependency?: string | ((payload: Payload) => string)
  readonly breaker?: BreakerOptions
  /** Longest time one attempt may take, in milliseconds. */
  readonly timeoutMs: number
  /**
   * In one sentence, why a second run does no harm. Start-up refuses a type that may be tried more than once
   * without it (J22).
   */
  readonly idempotency?: string
  /** What people see in lists, operators of the installation among them: free of personal data. */
  readonly displayName: (payload: Payload) => string
  /** One job. Give `run` or `runMany`, not both. */
  readonly run?: (payload: Payload, context: JobContext) => Promise<JobResult>
  /** A whole batch of one tenant in one transaction; one result per job, in order. */
  readonly runMany?: (
    jobs: readonly BatchedJob<Payload>[],
    tx: Tx | SystemTx,
    signal: AbortSignal,
  ) => Promise<readonly JobResult[]>
  /**
   * Writes the domain's side of every ending that `run` did not write itself in `context.transaction`: retry,
   * failure, time-out, cancel, loss, an operator's act. Runs in the transaction that settles the jobs, so a
   * domain row never disagrees with its job. All outcomes of one call belong to one tenant.
   */
  readonly onOutcome?: (tx: Tx, outcomes: readonly JobOutcome<Payload>[]) => Promise<void>
  /**
   * Whether what the job is for is still wanted, asked in the transaction of an operator's retry: null, or the reason
   * why not, which refuses the retry (J31, J72). Without it every failed job may be tried again.
   */
  readonly stillValid?: (tx: Tx, payload: Payload) => Promise<string | null>
}

/** Limits over all processes. They are counted, never stored, so that they cannot drift (pain 33). */
export interface JobLimits {
  /** Most that run at once. 1: one global run. */
  readonly running?: number
  readonly runningPerTenant?: number
  /** Most that begin per tenant in `perMs` milliseconds. */
  readonly ratePerTenant?: { readonly jobs: number; readonly perMs: number }
}

export interface BreakerOptions {
  /** Failures in a row (transient, throttled, timed out) that open it. Default 5. */
  readonly failures?: number
  /** How long it stays open at first, in milliseconds; doubles with each failed probe. Default 30,000. */
  readonly openMs?: number
  /** Longest pause between two probes, in milliseconds. Default 600,000. */
  readonly longestOpenMs?: number
}

export interface PolicyOverride {
  /** Attempts in all, the first included. */
  readonly maxAttempts?: number
  /**
   * Most attempts that an enqueue may ask for (`EnqueueRequest.policy`), for a type whose jobs differ: a step of a
   * workflow brings its own. Default: `maxAttempts`, so that an enqueue can only ask for fewer.
   */
  readonly ceiling?: number
  /** `delaysMs[i]` is the wait after attempt i + 1; the last one repeats. */
  readonly delaysMs?: readonly number[]
  /** 0 to 1: how much of a delay is random. Default 0.1. */
  readonly jitter?: number
  /** How many attempts may end with the death of their worker. Default 2. */
  readonly maxLost?: number
  /** Longest time from the begin of the first attempt to the begin of another, in milliseconds. Default: no limit. */
  readonly maxElapsedMs?: number
  /** What differs per class of error; never wider than the above. */
  readonly rules?: Readonly<Partial<Record<'TRANSIENT' | 'THROTTLED' | 'TIMEOUT' | 'LOST', ErrorRule>>>
  /** What people call this policy; default: the type's name, since its time-out is its own. */
  readonly name?: string
  /** Why this, or its ceiling, is wider than the class allows. */
  readonly motivation?: string
}

/**
 * What one job may have otherwise than its type. What is left out follows the type. Each different content is a row of
 * `job_policy` that stays: take it from configuration, not from what is computed for the job, such as the time left.
 */
export interface JobPolicy {
  /** Attempts in all, the first included: from 1 to the type's `policy.ceiling`. */
  readonly maxAttempts?: number
  /** `delaysMs[i]` is the wait after attempt i + 1; the last one repeats. The type's rules per class of error stay. */
  readonly delaysMs?: readonly number[]
  /** 0 to 1: how much of a delay is random. */
  readonly jitter?: number
  /** As of the type, and never longer than what the type says of it. */
  readonly maxElapsedMs?: number
}

/** What a policy says of one class of error. What is left out follows the policy itself. */
export interface ErrorRule {
  readonly maxAttempts?: number
  readonly delaysMs?: readonly number[]
}

export interface BatchedJob<Payload> {
  readonly id: string
  readonly payload: Payload
  readonly attempt: number
  readonly correlationId: string
}

export interface JobContext {
  readonly jobId: string
  /** Null for a job of the installation itself. */
  readonly tenantId: string | null
  /** 1 for the first execution. */
  readonly attempt: number
  readonly maxAttempts: number
  readonly correlationId: string
  /** Subject on whose behalf the job was enqueued; context, not proof: re-read the membership. */
  readonly triggeredBy: string
  /** Aborted at the time-out, at a cancel, when the lease is lost and when the process stops. */
  readonly signal: AbortSignal
  remainingMs(): number
  /**
   * The job's work and its ending in one commit: the body's result settles the job in the same transaction.
   * When the claim is no longer ours everything is rolled back and the attempt ends without effect.
   * Call it at most once and return what it returns.
   */
  transaction(body: (tx: Tx) => Promise<JobResult>): Promise<JobResult>
  /** A transaction before the last one, that only proves the claim: a status PROCESSING, a result worth keeping. */
  step<T>(body: (tx: Tx) => Promise<T>): Promise<T>
  /**
   * As `step`, in a transaction of that tenant: how a job of the installation goes through the tenants, each apart
   * from the others. Refused to a job that has a tenant itself.
   */
  stepFor<T>(tenantId: string, body: (tx: Tx) => Promise<T>): Promise<T>
  /** For what people should know of this attempt; job, type and correlation id are in every line. No payload. */
  readonly log: JobLogger
}

/**
 * How an attempt ended, as the handler says it. Throwing a `Failure` or anything else is the other way. Waits are
 * ten years at most; an output is JSON of at most 64 KiB.
 */
export type JobResult =
  | { readonly kind: 'SUCCEEDED'; readonly output?: Readonly<Record<string, unknown>> }
  /** The context is gone: the job becomes Cancelled with this reason. */
  | { readonly kind: 'NOT_APPLICABLE'; readonly reason: string }
  | { readonly kind: 'CANCELLED'; readonly reason: string }
  /** Failed, to be tried again after so long if the policy has attempts left. */
  | { readonly kind: 'RETRY_AFTER'; readonly delayMs: number; readonly code: string; readonly message: string }
  /** Not now: due again later, no attempt spent. */
  | { readonly kind: 'POSTPONED'; readonly delayMs: number; readonly reason: string }
  | { readonly kind: 'FAILED'; readonly code: string; readonly message: string }

/** The shorthand with which handlers answer: `return succeeded()`. */
export const succeeded = (output?: Readonly<Record<string, unknown>>): JobResult =>
  output === undefined ? { kind: 'SUCCEEDED' } : { kind: 'SUCCEEDED', output }
export const notApplicable = (reason: string): JobResult => ({ kind: 'NOT_APPLICABLE', reason })
export const cancelled = (reason: string): JobResult => ({ kind: 'CANCELLED', reason })
export const retryAfter = (delayMs: number, code: string, message: string): JobResult => ({
  kind: 'RETRY_AFTER',
  delayMs,
  code,
  message,
})
export const postponed = (delayMs: number, reason: string): JobResult => ({ kind: 'POSTPONED', delayMs, reason })
export const failed = (code: string, message: string): JobResult => ({ kind: 'FAILED', code, message })

/** An ending as the engine tells it to the domain. */
export interface JobOutcome<Payload> {
  readonly jobId: string
  readonly payload: Payload
  readonly attempt: number
  readonly maxAttempts: number
  readonly correlationId: string
  /** The job's state from now on. SCHEDULED: given back or postponed, no attempt spent. */
  readonly status: JobStatus
  /** When it is due again; null when it is over. */
  readonly nextAttemptAt: Date | null
  /** Null when it did not fail. */
  readonly failure: { readonly class: FailureClass; readonly code: string; readonly message: string } | null
  /** Reason of a cancel or a postponement. */
  readonly reason: string | null
  /** `system`, or the operator whose act it was. */
  readonly actor: string
}

/** Gives the definition its payload type and checks it when the module is loaded. */
export function defineJob<Payload>(definition: JobDefinition<Payload>): JobDefinition<Payload> {
  return definition
}
