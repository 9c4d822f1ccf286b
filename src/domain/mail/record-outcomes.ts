import type { Tx } from '../../database/index.ts'
import type { JobOutcome } from '../../jobs/index.ts'
import { transitionMany, type TransitionRequest } from '../../transitions/index.ts'
import type { MailJobPayload } from './delivery-type.ts'
import { mailLifecycle, type MailStatus } from './lifecycle.ts'
import { BY_IDS_FOR_UPDATE, eventData, type Mail } from './mail.ts'

/**
 * Writes every ending but "sent", in the transaction that settles the job, so that the two never disagree: FAILED
 * and CANCELLED as the job, PLANNED while another attempt follows, an operator's retry included.
 */
export async function recordOutcomes(tx: Tx, outcomes: readonly JobOutcome<MailJobPayload>[]): Promise<void> {
  const rows = await tx.query(BY_IDS_FOR_UPDATE, [JSON.stringify(outcomes.map(({ payload }) => payload.mailId))])
  const moves: TransitionRequest<MailStatus>[] = []
  for (const outcome of outcomes) {
    const mail = rows.find(({ id, jobId }) => id === outcome.payload.mailId && jobId === outcome.jobId)
    if (mail === undefined) continue
    const to = statusAfter(outcome)
    if (to !== mail.status) moves.push(move(mail, to, outcome))
  }
  await transitionMany(tx, mailLifecycle, moves)
}

type Outcome = JobOutcome<MailJobPayload>

function statusAfter({ status }: Outcome): MailStatus {
  switch (status) {
    case 'FAILED':
    case 'CANCELLED':
      return status
    case 'SUCCEEDED':
      return 'SENT'
    default:
      return 'PLANNED'
  }
}

function move(mail: Mail, to: MailStatus, { failure, reason, attempt, actor, correlationId, nextAttemptAt }: Outcome) {
  // A reason is a code when a domain gives it, and a sentence when an operator does.
  const code = failure?.code ?? (isCode(reason) ? reason : null)
  const problem = failure?.message ?? (isCode(reason) ? null : reason)
  return {
    id: mail.id,
    to,
    act: { actor, correlationId },
    reason: code ?? problem,
    data: eventData(mail, { attempt, nextAttemptAt, code }),
    set: { code, problem },
  }
}

const isCode = (reason: string | null): boolean => reason !== null && /^[a-z][a-z0-9_.]{0,199}$/.test(reason)
