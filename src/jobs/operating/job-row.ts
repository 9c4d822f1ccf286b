import type { FailureClass } from '../../errors/index.ts'
import type { JobStatus } from '../definition.ts'
import type { PageRequest } from './page.ts'

/**
 * A job as an operator sees it, waiting, running or over. No payload, no output and no idempotency key: those are
 * the domain's data (J74). `displayName` is the domain's own words and free of personal data, as every definition
 * promises.
 */
export interface JobRow {
  readonly jobId: string
  /** Null for a job of the installation itself. */
  readonly tenantId: string | null
  readonly type: string
  readonly displayName: string
  readonly status: JobStatus
  /** Higher first. */
  readonly priority: number
  /** Attempts begun in all. */
  readonly attempt: number
  /** Of those, attempts of earlier windows: each manual retry opens a new one. */
  readonly attemptBase: number
  /** Attempts per window. */
  readonly maxAttempts: number
  /** How many attempts ended with the death of their worker. */
  readonly lost: number
  /** When it is due; null while it runs, when it is over and while it is held. */
  readonly dueAt: Date | null
  /** Put aside by an operator until it is released. */
  readonly held: boolean
  readonly createdAt: Date
  /** When the present attempt was claimed; null unless it runs. */
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
  /** Set when somebody asked a running job to stop. */
  readonly cancelRequestedAt: Date | null
  /** The last attempt's failure, if that one failed. `message` is safe to show. */
  readonly failure: { readonly class: FailureClass; readonly code: string; readonly message: string } | null
  /** Reason of a cancel, or of the handling. */
  readonly reason: string | null
  /** HANDLED: an operator dealt with it outside of the engine. */
  readonly resolution: 'HANDLED' | null
  readonly correlationId: string
  readonly triggeredBy: string
  readonly batchId: string | null
  /** The worker that runs it; null unless it runs. */
  readonly workerId: string | null
}

/** What operators look for; everything that is given must hold. Nothing given: all jobs. */
export interface JobFilter {
  readonly types?: readonly string[]
  readonly statuses?: readonly JobStatus[]
  /** Null: the installation's own jobs. Left out: everybody's. */
  readonly tenantId?: string | null
  readonly createdAfter?: Date
  readonly createdBefore?: Date
  readonly finishedAfter?: Date
  readonly finishedBefore?: Date
  /** Waiting and due before that moment; jobs that are held are not due. */
  readonly dueBefore?: Date
  /** Waiting, and due by now or not yet; jobs that are held are not due. */
  readonly due?: boolean
  /** Waiting, and held or not. */
  readonly held?: boolean
  /** Code and class of the last failure, of jobs that wait for a retry or have failed. */
  readonly code?: string
  readonly failureClass?: FailureClass
  readonly correlationId?: string
  readonly batchId?: string
}

/** Newest first, by id (ids are UUIDv7). At most one of `after` and `before`, each the id of a job. */
export type JobPageRequest = PageRequest

export interface JobPage {
  /** Newest first, also when read backwards. */
  readonly rows: readonly JobRow[]
  /** There are others further in the direction read. */
  readonly hasMore: boolean
}
