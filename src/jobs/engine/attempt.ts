import type { AnyJobDefinition } from '../registry.ts'
import type { ClaimedRow } from '../sql/claim.ts'
import type { SettledRow } from '../sql/settle.ts'
import type { Ending } from './ending.ts'

/** Why a running attempt is told to stop. */
export type AbortCause = 'TIMEOUT' | 'CANCEL' | 'SUPERSEDED' | 'STOP'

/** The reason of an attempt's `AbortSignal`. */
export class AttemptAborted extends Error {
  readonly abortCause: AbortCause

  constructor(abortCause: AbortCause) {
    super(WHY[abortCause])
    this.name = 'AbortError'
    this.abortCause = abortCause
  }
}

const WHY: Readonly<Record<AbortCause, string>> = {
  TIMEOUT: 'The attempt took too long.',
  CANCEL: 'The job was cancelled.',
  SUPERSEDED: 'The job is no longer held by this worker.',
  STOP: 'The process stops.',
}

/** One claimed job in this worker's hands, from the claim until the row that ends it is written. */
export class Attempt {
  readonly job: ClaimedRow
  readonly definition: AnyJobDefinition
  /** Its type had a gate when it was claimed. */
  readonly gated: boolean
  readonly claimedAt = performance.now()
  /** Null again when it turned out that it may not begin yet. */
  beganAt: number | null = null
  /** The outside service that it is about to call, once that is known (gates/breakers.ts). */
  dependency: string | null = null
  /** It is the one that tries whether that service is back. */
  probes = false
  /** Set once the ending is decided, by whoever was first: the handler, the time-out, a cancel, the stop. */
  ended = false
  abortedFor: AbortCause | null = null
  /** Between the begin and the answer of the handler's own settling transaction nobody can say who holds the job. */
  inTransaction = false
  /** The status the job got in the handler's own commit; null as long as the engine has to settle it. */
  settledAs: SettledRow['status'] | null = null
  /** How the handler's own transaction ended it. */
  settledBy: Ending | null = null
  // Most handlers never look at the signal, and an AbortController is the dearest thing in a no-op attempt.
  #controller: AbortController | null = null

  constructor(job: ClaimedRow, definition: AnyJobDefinition, gated = false) {
    this.job = job
    this.definition = definition
    this.gated = gated
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController()
      if (this.abortedFor !== null) this.#controller.abort(new AttemptAborted(this.abortedFor))
    }
    return this.#controller.signal
  }

  abort(cause: AbortCause): void {
    if (this.abortedFor !== null) return
    this.abortedFor = cause
    this.#controller?.abort(new AttemptAborted(cause))
  }

  ranMs(): number {
    return this.beganAt === null ? 0 : Math.max(0, Math.round(performance.now() - this.beganAt))
  }

  remainingMs(): number {
    return Math.max(0, this.job.timeoutMs - this.ranMs())
  }
}
