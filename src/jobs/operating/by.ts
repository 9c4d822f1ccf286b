import { ValidationError, withoutSecrets } from '../../errors/index.ts'
import { isStorable } from '../json.ts'

/** Who acts, and why. The caller has checked that they may. */
export interface By {
  /** Subject of the operator. */
  readonly actor: string
  /** Not blank, at most 500 characters. Kept for ever, so free of personal data. */
  readonly reason: string
  /** Of the operator's request. */
  readonly correlationId: string
}

const LONGEST_REASON = 500

/** @throws ValidationError (path `reason`), so that no act goes without a why (J75) */
export function checkedBy(by: By): By {
  const reason = by.reason.trim()
  const problem =
    reason === ''
      ? 'An act needs a reason: whoever reads the audit later asks why. Say it in a sentence.'
      : reason.length > LONGEST_REASON
        ? `A reason has at most ${LONGEST_REASON} characters; this one has ${reason.length}.`
        : isStorable(JSON.stringify(reason))
          ? null
          : 'The reason holds a character that cannot be stored.'
  if (problem !== null) throw new ValidationError(problem, { code: 'job.reason_required', path: ['reason'] })
  return { ...by, reason: withoutSecrets(reason) }
}
