import { ConflictError } from '../../errors/index.ts'
import type { JobStatus } from '../definition.ts'
import type { ActableRow } from '../sql/operate.ts'

/**
 * - RETRY: a failed job gets a new window of attempts, due now; its domain is asked first whether it still wants it.
 * - RUN_NOW: a waiting job is due now.
 * - CANCEL: a waiting job is cancelled at once; a running one gets its abort signal and ends by who wins.
 * - HANDLE: a failed job was dealt with outside of the engine; it becomes CANCELLED with the resolution HANDLED.
 * - HOLD: a waiting job is put aside until RELEASE, which gives it back its due time.
 */
export type JobAct = 'RETRY' | 'RUN_NOW' | 'CANCEL' | 'HANDLE' | 'HOLD' | 'RELEASE'

interface ActRule {
  /** The statuses that allow the act (J33). */
  readonly from: readonly JobStatus[]
  readonly table: 'LIVE' | 'OVER'
  /** Whether the job's domain has something to hear: its status changes. */
  readonly told: boolean
}

export const ACT_RULES: Readonly<Record<JobAct, ActRule>> = {
  RETRY: { from: ['FAILED'], table: 'OVER', told: true },
  RUN_NOW: { from: ['SCHEDULED', 'RETRY_SCHEDULED'], table: 'LIVE', told: false },
  CANCEL: { from: ['SCHEDULED', 'RETRY_SCHEDULED', 'PROCESSING'], table: 'LIVE', told: true },
  HANDLE: { from: ['FAILED'], table: 'OVER', told: true },
  HOLD: { from: ['SCHEDULED', 'RETRY_SCHEDULED'], table: 'LIVE', told: false },
  RELEASE: { from: ['SCHEDULED', 'RETRY_SCHEDULED'], table: 'LIVE', told: false },
}

export const JOB_ACTS = Object.keys(ACT_RULES) as readonly JobAct[]

/** Why an act was not done; nothing was written. `message` says what to do instead. */
export class JobActRefusedError extends ConflictError {
  /** The job's status now. */
  readonly status: JobStatus

  /**
   * @param code `job.wrong_status`, `job.no_longer_valid` (the domain says why in the message), `job.held`,
   * `job.not_held`, `job.type_unknown_here`, `job.batch_cancelled`, `job.cancel_requested` or `job.busy` (try again)
   */
  constructor(message: string, code: string, status: JobStatus) {
    super(message, { code })
    this.status = status
  }
}

export function wrongStatus(act: JobAct, status: JobStatus): JobActRefusedError {
  const possible = JOB_ACTS.filter((other) => ACT_RULES[other].from.includes(status))
  const ways = possible.length === 0 ? 'It is final.' : `Possible now: ${possible.join(', ')}.`
  return new JobActRefusedError(
    `${act} is for jobs that are ${ACT_RULES[act].from.join(' or ')}; this one is ${status}. ${ways}`,
    'job.wrong_status',
    status,
  )
}

export const unknownType = (type: string, status: JobStatus): JobActRefusedError =>
  new JobActRefusedError(
    `No release that runs here knows the job type "${type}", so its domain could not be told. ` +
      'Act on it from a process that knows the type.',
    'job.type_unknown_here',
    status,
  )

/** What of the job and its batch forbids the act; null when nothing does. */
export function obstacle(
  act: JobAct,
  row: ActableRow,
  cancelledBatches: ReadonlySet<string>,
): JobActRefusedError | null {
  const refuse = (code: string, message: string) => new JobActRefusedError(message, code, row.status)
  if (!ACT_RULES[act].from.includes(row.status)) return wrongStatus(act, row.status)
  switch (act) {
    case 'RETRY':
      return row.batchId !== null && cancelledBatches.has(row.batchId)
        ? refuse('job.batch_cancelled', 'Its batch was cancelled: start what is still wanted as a new job.')
        : null
    case 'CANCEL':
      return row.cancelRequested
        ? refuse('job.cancel_requested', 'It has been asked to stop already and ends as soon as it notices.')
        : null
    case 'HOLD':
      return row.held ? refuse('job.held', 'It is held already.') : null
    case 'RELEASE':
      return row.held ? null : refuse('job.not_held', 'It is not held; RUN_NOW makes it due at once.')
    case 'RUN_NOW':
    case 'HANDLE':
      return null
  }
}
