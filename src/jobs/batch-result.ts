import { isUnreachable } from '../database/index.ts'
import { Failure } from '../errors/index.ts'
import { type JobContext, type JobResult, succeeded } from './definition.ts'
import { Superseded } from './engine/claim-transaction.ts'
import { endingOfThrown } from './engine/ending.ts'

/** What a run over many candidates came to; every candidate is in exactly one of the last three (J57). */
export interface BatchResult {
  readonly found: number
  readonly processed: number
  /** No longer needed it when their turn came. */
  readonly skipped: number
  readonly failed: number
}

/** @throws RangeError when a count is not a whole number from 0, or Found is not Processed + Skipped + Failed */
export function batchResult(counts: BatchResult): BatchResult {
  const { found, processed, skipped, failed } = counts
  if ([found, processed, skipped, failed].some((count) => !Number.isSafeInteger(count) || count < 0))
    throw new RangeError(`The counts of a batch are whole numbers from 0, not ${JSON.stringify(counts)}.`)
  if (found !== processed + skipped + failed)
    throw new RangeError(
      `${found} found is not ${processed} processed + ${skipped} skipped + ${failed} failed: a candidate got lost or counted twice.`,
    )
  return { found, processed, skipped, failed }
}

export type CandidateOutcome = 'PROCESSED' | 'SKIPPED'

/** Beyond, what fails in one run is only counted: a thousand lines say no more than a hundred. */
const MOST_LOGGED = 100

/**
 * Handles candidates one after the other, each by itself: one that throws is logged with its id and its code, counted
 * as failed, and the others go on (J56). Give each a transaction of its own (`context.step`, `context.stepFor`), which
 * reads again whether the candidate still needs it (J62) and answers SKIPPED when not.
 *
 * What stops the whole run is thrown: the abort signal, a lost claim, a database that cannot be reached.
 *
 * @param idOf what the log calls a candidate: an id, nothing personal
 */
export async function eachCandidate<Candidate>(
  context: Pick<JobContext, 'log' | 'signal'>,
  candidates: Iterable<Candidate> | AsyncIterable<Candidate>,
  idOf: (candidate: Candidate) => string,
  handle: (candidate: Candidate) => Promise<CandidateOutcome>,
): Promise<BatchResult> {
  let processed = 0
  let skipped = 0
  let failed = 0
  for await (const candidate of candidates) {
    context.signal.throwIfAborted()
    try {
      if ((await handle(candidate)) === 'PROCESSED') processed++
      else skipped++
    } catch (error) {
      if (context.signal.aborted || error instanceof Superseded || isUnreachable(error)) throw error
      if (failed++ >= MOST_LOGGED) continue
      const { code, failureClass, stack } = endingOfThrown(error)
      context.log.warn(
        { candidate: idOf(candidate), code, failureClass, stack },
        'A candidate failed; the others go on.',
      )
    }
  }
  const result = batchResult({ found: processed + skipped + failed, processed, skipped, failed })
  if (failed > 0) context.log.warn({ ...result }, `${failed} of ${result.found} candidates failed.`)
  return result
}

/**
 * The answer of a run: succeeded, with the counts and the correlation id as its output, also when candidates failed
 * (J20: the next run finds them again). With `retryWhenFailed` those fail the run instead, to be tried again as the
 * policy says and, at the end, to stand among the failed jobs.
 *
 * @throws Failure `job.candidates_failed`, transient, with `retryWhenFailed` only
 */
export function batchDone(
  result: BatchResult,
  correlationId: string,
  options: { readonly retryWhenFailed?: boolean } = {},
): JobResult {
  const { found, processed, skipped, failed } = batchResult(result)
  if (failed > 0 && options.retryWhenFailed === true)
    throw new Failure(
      'TRANSIENT',
      'job.candidates_failed',
      `${failed} of ${found} candidates failed; ${processed} were processed and ${skipped} skipped.`,
    )
  return succeeded({ found, processed, skipped, failed, correlationId })
}
