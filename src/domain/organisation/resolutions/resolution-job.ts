import { z } from 'zod'
import { isLockTimeout } from '../../../database/index.ts'
import { Failure } from '../../../errors/index.ts'
import { defineJob, notApplicable, succeeded, type JobDefinition } from '../../../jobs/index.ts'
import type { Composition } from '../impact/composition.ts'
import { beginAttempt } from './begin-attempt.ts'
import { carryOut } from './carry-out.ts'
import { recordOutcomes } from './record-outcomes.ts'

/** Never the id alone: a job of an earlier submission must be able to see that it is one (C14). */
export interface ResolutionJobPayload {
  readonly resolutionId: string
  readonly submissionNo: number
}

export interface ResolutionJobOptions {
  /** Waits between the attempts, in milliseconds; one attempt more than there are waits. */
  readonly delaysMs?: readonly number[]
  /** How long an attempt waits for a thing that somebody else is writing. */
  readonly lockTimeoutMs?: number
}

export const RETRY_DELAYS_MS = [15_000, 60_000, 300_000] as const
const LOCK_TIMEOUT_MS = 3_000

/** The job that carries out a resolution: one attempt is two transactions (begin-attempt.ts, carry-out.ts). */
export function resolutionJob(
  composition: Composition,
  { delaysMs = RETRY_DELAYS_MS, lockTimeoutMs = LOCK_TIMEOUT_MS }: ResolutionJobOptions = {},
): JobDefinition<ResolutionJobPayload> {
  return defineJob({
    type: 'orgmodel.resolution',
    class: 'FOLLOW_UP',
    payload: z.object({ resolutionId: z.uuid(), submissionNo: z.int().min(1) }),
    policy: {
      maxAttempts: delaysMs.length + 1,
      delaysMs,
      jitter: 0.2,
      motivation:
        'The seed promises a first run and up to three more, and a person waits for the answer with the draft open: ' +
        'short waits first, because what is in the way is mostly a lock on the very persona that is being edited.',
    },
    idempotency: 'The effect is written in the transaction that ends the attempt, in the place of any earlier one.',
    timeoutMs: 60_000,
    displayName: ({ resolutionId }) => `OrgModel Draft Resolution [${resolutionId}]`,

    async run(payload, context) {
      const obstacle = await context.step((tx) => beginAttempt(tx, payload, context))
      if (obstacle !== null) return notApplicable(obstacle)
      try {
        return await context.transaction(async (tx) => {
          await carryOut(tx, composition, payload, context, lockTimeoutMs)
          return succeeded({ resolutionId: payload.resolutionId })
        })
      } catch (error) {
        if (!isLockTimeout(error)) throw error
        throw new Failure(
          'TRANSIENT',
          'orgmodel.resolution.target_busy',
          'Somebody else is writing what this resolution is about. It will be tried again.',
          { cause: error },
        )
      }
    },

    onOutcome: recordOutcomes,
    // FAILED is final for a submission (C22): whoever still wants it submits the choice again, against the issue as it
    // is then.
    stillValid: () =>
      Promise.resolve('A resolution that has failed is over. Choose the action again in the draft; that is a new job.'),
  })
}
