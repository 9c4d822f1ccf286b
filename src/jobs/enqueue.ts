import type { Queryable } from '../database/index.ts'
import type { JobDefinition } from './definition.ts'

export interface EnqueueRequest<Payload> {
  /** Chosen by the caller when it stores the id in its own row first; else made here. */
  readonly jobId?: string
  readonly tenantId: string | null
  readonly payload: Payload
  readonly correlationId: string
  /** Subject of the viewer, or `system`. */
  readonly triggeredBy: string
  /** Milliseconds from the database's now. Default 0. */
  readonly delayMs?: number
  readonly runAt?: Date
  /** Unique per tenant and type: a second enqueue with the same key returns the first job. */
  readonly idempotencyKey?: string
  /** Higher first. Default 0. */
  readonly priority?: number
}

export interface EnqueuedJob {
  readonly jobId: string
  /** False when the idempotency key had been used: `jobId` is the earlier job. */
  readonly created: boolean
}

/** Writes the job in the caller's transaction; it exists when, and only if, that commits. Throws on a bad payload. */
export declare function enqueue<Payload>(
  tx: Queryable,
  definition: JobDefinition<Payload>,
  request: EnqueueRequest<Payload>,
): Promise<EnqueuedJob>

/** Many jobs of one type in one statement, in order. */
export declare function enqueueMany<Payload>(
  tx: Queryable,
  definition: JobDefinition<Payload>,
  requests: readonly EnqueueRequest<Payload>[],
): Promise<EnqueuedJob[]>

/**
 * Cancels queued jobs in the caller's transaction; a running one gets its abort signal and ends by who wins.
 * For the domain that owns the jobs and writes its own rows itself: `onOutcome` is not called for queued ones.
 */
export declare function cancelJobs(
  tx: Queryable,
  request: { tenantId: string | null; jobIds: readonly string[]; reason: string; actor: string },
): Promise<{ cancelled: string[]; signalled: string[] }>
