/**
 * Regie cannot start, for a reason that the person at the terminal can remove. Printed as three plain
 * sentences and never with a stack trace.
 */
export class StartupError extends Error {
  /** What did not work. */
  readonly what: string
  /** Why, as exactly as is known. */
  readonly why: string
  /** What to do about it. */
  readonly next: string

  constructor(what: string, why: string, next: string, options?: ErrorOptions) {
    super(`${what} ${why} ${next}`, options)
    this.name = 'StartupError'
    this.what = what
    this.why = why
    this.next = next
  }
}
