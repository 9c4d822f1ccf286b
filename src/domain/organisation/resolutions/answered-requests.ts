import { statement, type Tx } from '../../../database/index.ts'
import { idempotencyConflict } from './errors.ts'
import type { SubmittedResolution } from './file-choices.ts'

/**
 * The answer that a request with this key got; null for a new key.
 * @throws ConflictError when it was another request
 */
export async function answerTo(tx: Tx, key: string, hash: string): Promise<readonly SubmittedResolution[] | null> {
  const [before] = await tx.query(ANSWERED, [key])
  if (before === undefined) return null
  if (before.requestHash !== hash) throw idempotencyConflict()
  return before.answer
}

/** Takes the key for this request; false when another one was faster. */
export async function claimKey(tx: Tx, key: string, hash: string, draftId: string): Promise<boolean> {
  return (await tx.query(CLAIM_KEY, [key, hash, draftId])).length > 0
}

export async function keepAnswer(tx: Tx, key: string, answer: readonly SubmittedResolution[]): Promise<void> {
  await tx.query(KEEP_ANSWER, [key, JSON.stringify(answer)])
}

const ANSWERED = statement<{ requestHash: string; answer: readonly SubmittedResolution[] }>(
  'organisation.submission.find',
  `select request_hash::text as "requestHash", answer from org_model_submission
   where tenant_id = $1::uuid and idempotency_key = $2`,
)

// Of two with the same key at once, the second waits here for the first and then finds its answer.
const CLAIM_KEY = statement<{ claimed: boolean }>(
  'organisation.submission.claim',
  `insert into org_model_submission (tenant_id, idempotency_key, request_hash, draft_version_id, answer)
   values ($1::uuid, $2, $3, $4::uuid, '[]')
   on conflict do nothing
   returning true as claimed`,
)

const KEEP_ANSWER = statement<unknown>(
  'organisation.submission.keep',
  `update org_model_submission set answer = $3::jsonb where tenant_id = $1::uuid and idempotency_key = $2`,
)
