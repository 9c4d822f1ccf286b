/** Why an attempt of a job failed. The policy of the job decides per class what happens next. */
export type FailureClass = 'PERMANENT' | 'TRANSIENT' | 'THROTTLED' | 'TIMEOUT' | 'LOST' | 'CANCELLED'

/**
 * A failure that a handler names itself. `code` is stable; `message` is safe to show: no SQL, no personal data.
 * Anything else that is thrown counts as transient with the code `job.unexpected` and a general message.
 */
export class Failure extends Error {
  readonly failureClass: FailureClass
  readonly code: string
  /** Milliseconds the other side asked us to wait; only with THROTTLED. */
  readonly retryAfterMs: number | null

  constructor(
    failureClass: FailureClass,
    code: string,
    message: string,
    options: { retryAfterMs?: number; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'Failure'
    this.failureClass = failureClass
    this.code = code
    this.retryAfterMs = options.retryAfterMs ?? null
  }
}
