import type { Database } from '../../database/index.ts'
import { ConflictError } from '../../errors/index.ts'
import type { JobStatus } from '../definition.ts'
import type { JobRegistry } from '../registry.ts'
import type { JobRow } from './job-row.ts'

/** Who acts, and why. The caller has checked that they may. */
export interface By {
  /** Subject of the operator. */
  readonly actor: string
  /** Not blank, at most 500 characters. Kept for ever, so free of personal data. */
  readonly reason: string
  /** Of the operator's request. */
  readonly correlationId: string
}

/**
 * - RETRY: a failed job gets a new window of attempts, due now; its domain is asked first whether it still wants it.
 * - RUN_NOW: a waiting job is due now.
 * - CANCEL: a waiting job is cancelled at once; a running one gets its abort signal and ends by who wins.
 * - HANDLE: a failed job was dealt with outside of the engine; it becomes CANCELLED with the resolution HANDLED.
 * - HOLD: a waiting job is put aside until RELEASE, which gives it back its due time.
 */
export type JobAct = 'RETRY' | 'RUN_NOW' | 'CANCEL' | 'HANDLE' | 'HOLD' | 'RELEASE'

export const JOB_ACTS: readonly JobAct[] = ['RETRY', 'RUN_NOW', 'CANCEL', 'HANDLE', 'HOLD', 'RELEASE']

/** What acts need: a database, and the definitions whose domains are told. */
export interface OperatingParts {
  readonly database: Database
  readonly registry: JobRegistry
}

export interface ActedJob {
  /** The row of the audit. */
  readonly actId: string
  /** The job after the act. */
  readonly job: JobRow
}

/** Why an act was not done; nothing was written. `message` says what to do instead. */
export class JobActRefusedError extends ConflictError {
  /** The job's status now. */
  readonly status: JobStatus

  /**
   * @param code `job.wrong_status`, `job.no_longer_valid` (the domain says why in the message),
   * `job.type_unknown_here`, `job.batch_cancelled`, `job.cancel_requested` or `job.busy` (try again)
   */
  constructor(message: string, code: string, status: JobStatus) {
    super(message, { code })
    this.status = status
  }
}

/**
 * One act on one job, in one transaction: the job, its row in the audit and in the second log, and its domain told.
 * Two operators at once: one wins, the other is refused with the status that it has now.
 *
 * @throws ValidationError when the reason is blank or too long (path `reason`)
 * @throws NotFoundError when no such job can be found
 * @throws JobActRefusedError
 */
export async function actOnJob(_parts: OperatingParts, _act: JobAct, _jobId: string, _by: By): Promise<ActedJob> {
  throw new Error('being written')
}
