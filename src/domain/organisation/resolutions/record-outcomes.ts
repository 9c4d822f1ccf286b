import type { Tx } from '../../../database/index.ts'
import { statement } from '../../../database/index.ts'
import type { JobOutcome } from '../../../jobs/index.ts'
import { transitionMany, type TransitionRequest } from '../../../transitions/index.ts'
import { resolutionLifecycle, type ResolutionStatus } from './lifecycle.ts'
import { BY_IDS_FOR_UPDATE, eventData, type Resolution } from './resolution.ts'
import type { ResolutionJobPayload } from './resolution-job.ts'

/**
 * Step D: writes every ending but success, in the transaction that settles the job, so that the two never
 * disagree. FAILED is final for a submission; between two attempts it is PENDING (C22).
 */
export async function recordOutcomes(tx: Tx, outcomes: readonly ResolutionOutcome[]): Promise<void> {
  const ids = outcomes.map(({ payload }) => payload.resolutionId)
  const rows = await tx.query(BY_IDS_FOR_UPDATE, [JSON.stringify(ids)])
  const moves: TransitionRequest<ResolutionStatus>[] = []
  for (const outcome of outcomes) {
    const row = rows.find(({ id }) => id === outcome.payload.resolutionId)
    // What another submission has taken over, or what is over, is none of this job's business (C14).
    if (row === undefined || row.submissionNo !== outcome.payload.submissionNo || row.jobId !== outcome.jobId) continue
    if (row.status === 'PROCESSING') moves.push(moveOf(row, outcome))
    else if (row.status === 'PENDING') {
      // The attempt ended before it could show that it had begun.
      if (isOver(outcome)) moves.push(moveOf(row, outcome))
      else if (outcome.failure !== null) await noteAttempt(tx, row, outcome)
    }
  }
  await transitionMany(tx, resolutionLifecycle, moves)
}

/** An ending of a resolution's job. */
export type ResolutionOutcome = JobOutcome<ResolutionJobPayload>

const isOver = ({ status }: ResolutionOutcome): boolean => status === 'FAILED' || status === 'CANCELLED'

function moveOf(row: Resolution, outcome: ResolutionOutcome): TransitionRequest<ResolutionStatus> {
  const { code, message } = whatWentWrong(outcome)
  const { attempt, maxAttempts, nextAttemptAt, actor, correlationId } = outcome
  const over = isOver(outcome)
  const failed = outcome.failure !== null || over
  return {
    id: row.id,
    to: over ? 'FAILED' : 'PENDING',
    act: { actor, correlationId },
    reason: failed ? code : (outcome.reason ?? 'orgmodel.resolution.given_back'),
    data: eventData(row, {
      submissionNo: row.submissionNo,
      attempt,
      maxAttempts,
      nextAttemptAt,
      errorCode: failed ? code : null,
      error: failed ? message : null,
    }),
    set: {
      attempt_no: attempt,
      next_attempt_at: nextAttemptAt?.toISOString() ?? null,
      ...(failed ? { last_attempt_error: message, last_attempt_code: code } : {}),
      ...(over ? { error: message, error_code: code } : {}),
    },
  }
}

/** Stable codes of the resolution for what the engine calls by its own names; safe sentences only (C47). */
function whatWentWrong({ failure, reason, status }: ResolutionOutcome): { code: string; message: string } {
  if (failure === null) {
    const code = reason?.startsWith('orgmodel.') === true ? reason : 'orgmodel.resolution.cancelled'
    return {
      code,
      message: status === 'CANCELLED' ? 'It was cancelled before it was carried out.' : 'It was given back.',
    }
  }
  const message = failure.message.slice(0, 2_000)
  switch (failure.class) {
    case 'LOST':
      return { code: 'orgmodel.resolution.worker_lost', message: 'The worker stopped while it was carrying this out.' }
    case 'TIMEOUT':
      return { code: 'orgmodel.resolution.timeout', message }
    default:
      return {
        code: failure.code.startsWith('job.') ? `orgmodel.resolution.${failure.code.slice(4)}` : failure.code,
        message,
      }
  }
}

async function noteAttempt(tx: Tx, row: Resolution, outcome: ResolutionOutcome): Promise<void> {
  const { code, message } = whatWentWrong(outcome)
  await tx.query(NOTE_ATTEMPT, [row.id, outcome.attempt, outcome.nextAttemptAt, message, code])
}

const NOTE_ATTEMPT = statement<unknown>(
  'organisation.resolution.note_attempt',
  `update org_model_draft_resolution
   set attempt_no = $3::int, next_attempt_at = $4::timestamptz, last_attempt_error = $5, last_attempt_code = $6
   where tenant_id = $1::uuid and id = $2::uuid`,
)
