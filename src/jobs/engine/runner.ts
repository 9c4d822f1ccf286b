import { Failure } from '../../errors/index.ts'
import type { BatchedJob, JobResult } from '../definition.ts'
import { readPayload } from '../payload.ts'
import type { Attempt } from './attempt.ts'
import { jobTransaction, proveClaims, settleHere, Superseded } from './claim-transaction.ts'
import { AttemptContext } from './context.ts'
import { CANCELLED, type Ending, endingOf, endingOfThrown, INTERRUPTED, timedOut } from './ending.ts'
import type { EngineParts } from './parts.ts'

/** What the engine does with an attempt once its handler has answered. */
export interface Verdicts {
  /** Whether the outside service that the attempt depends on may be called; when not, the attempt has ended. */
  admit(attempt: Attempt, payload: unknown): Promise<boolean>
  /** The attempt ended so; write it. Ignored when the attempt has ended already. */
  decide(attempt: Attempt, ending: Ending): void
  /** The handler wrote the ending itself. */
  settledByHandler(attempt: Attempt): void
  /** The job is another's; there is nothing to write. */
  superseded(attempt: Attempt): void
}

/** Runs the handler of one attempt; never rejects. */
export async function runOne(attempt: Attempt, parts: EngineParts, verdicts: Verdicts): Promise<void> {
  const { definition, job } = attempt
  try {
    const payload = readPayload(definition, job.payload, job.payloadVersion)
    if (definition.dependency !== undefined && !(await verdicts.admit(attempt, payload))) return
    const result = await definition.run!(payload, new AttemptContext(attempt, parts))
    if (attempt.settledAs !== null) verdicts.settledByHandler(attempt)
    else verdicts.decide(attempt, endingOf(result))
  } catch (error) {
    if (attempt.settledAs === null) return concludeThrown(attempt, error, verdicts)
    parts.logger.warn(
      { err: error, jobId: job.id, type: job.type, correlationId: job.correlationId },
      'A handler threw after its transaction had settled the job; the job keeps the state it got there.',
    )
    verdicts.settledByHandler(attempt)
  }
}

/**
 * Runs `runMany` for jobs of one type and tenant, in one transaction that also settles them; never rejects. When
 * that fails nothing has been written, so each job then runs by itself: the bad one fails alone (J56).
 */
export async function runTogether(attempts: readonly Attempt[], parts: EngineParts, verdicts: Verdicts): Promise<void> {
  const runnable: Attempt[] = []
  for (const attempt of attempts) if (await mayRun(attempt, verdicts)) runnable.push(attempt)
  try {
    await inOneTransaction(runnable, parts, verdicts)
  } catch (error) {
    if (runnable.length === 1) return concludeThrown(runnable[0]!, error, verdicts)
    for (const attempt of runnable) {
      if (attempt.ended) continue
      if (attempt.abortedFor === null) await runTogether([attempt], parts, verdicts)
      else concludeThrown(attempt, error, verdicts)
    }
  }
}

async function inOneTransaction(attempts: readonly Attempt[], parts: EngineParts, verdicts: Verdicts): Promise<void> {
  const [first] = attempts
  if (first === undefined) return
  const { database, transactions } = parts
  const signal = AbortSignal.any(attempts.map((attempt) => attempt.signal))
  for (const attempt of attempts) attempt.inTransaction = true
  try {
    const held = await transactions.with(() => {
      signal.throwIfAborted()
      return jobTransaction(
        database,
        first.job.tenantId,
        async (tx) => {
          const proven = await proveClaims(tx, attempts)
          const ours = attempts.filter((attempt) => proven.has(attempt.job.id))
          if (ours.length === 0) return []
          const results = await first.definition.runMany!(ours.map(batched), tx, signal)
          const statuses = await settleHere(tx, pairs(ours, results))
          return ours.map((attempt) => ({ attempt, status: statuses.get(attempt.job.id)! }))
        },
        Math.max(1, first.remainingMs()),
      )
    })
    for (const { attempt, status } of held) attempt.settledAs = status
    if (held.length > 0) parts.onCommitted()
  } finally {
    for (const attempt of attempts) attempt.inTransaction = false
  }
  for (const attempt of attempts)
    if (attempt.settledAs === null) verdicts.superseded(attempt)
    else verdicts.settledByHandler(attempt)
}

const batched = ({ job, definition }: Attempt): BatchedJob<unknown> => ({
  id: job.id,
  payload: readPayload(definition, job.payload, job.payloadVersion),
  attempt: job.attempt,
  correlationId: job.correlationId,
})

function pairs(attempts: readonly Attempt[], results: readonly JobResult[]) {
  if (results.length !== attempts.length)
    throw new Failure(
      'PERMANENT',
      'job.results_missing',
      `runMany answered with ${results.length} results for ${attempts.length} jobs; it must be one each, in order.`,
    )
  return attempts.map((attempt, index) => ({ attempt, ending: endingOf(results[index]!) }))
}

async function mayRun(attempt: Attempt, verdicts: Verdicts): Promise<boolean> {
  const { definition, job } = attempt
  try {
    const payload = readPayload(definition, job.payload, job.payloadVersion)
    return definition.dependency === undefined || (await verdicts.admit(attempt, payload))
  } catch (error) {
    concludeThrown(attempt, error, verdicts)
    return false
  }
}

/** An error means what it says, unless the handler had been told to stop: then it is how the handler obeyed. */
function concludeThrown(attempt: Attempt, error: unknown, verdicts: Verdicts): void {
  if (error instanceof Superseded || attempt.abortedFor === 'SUPERSEDED') return verdicts.superseded(attempt)
  const ending = endingOfThrown(error)
  if (ending.kind === 'FAILED') return verdicts.decide(attempt, ending)
  if (attempt.abortedFor === 'CANCEL') return verdicts.decide(attempt, CANCELLED)
  if (attempt.abortedFor === 'STOP') return verdicts.decide(attempt, INTERRUPTED)
  if (attempt.remainingMs() === 0) return verdicts.decide(attempt, timedOut(attempt.job.timeoutMs))
  verdicts.decide(attempt, ending)
}
