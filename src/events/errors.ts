import { UserError } from '../errors/index.ts'

/** A text that this system never gave out, or gave to another tenant. Which of the two is not told. */
export class InvalidCursorError extends UserError {
  readonly code = 'INVALID_CURSOR'

  constructor() {
    super('This cursor was not given out to you. Pass a cursor exactly as you received it, or leave "after" out.', [
      'after',
    ])
  }
}

/** The cursor was good once, but the log no longer reaches back to it. Never answered by silence. */
export class CursorExpiredError extends UserError {
  readonly code = 'CURSOR_EXPIRED'

  constructor() {
    super('The log no longer reaches back to this cursor. Read the present state anew and subscribe without "after".', [
      'after',
    ])
  }
}

/** The subscriber stood still too long while events went by. `cursor` is where it can go on. */
export class SlowConsumerError extends UserError {
  readonly code = 'SLOW_CONSUMER'
  readonly cursor: string

  constructor(cursor: string) {
    super('This subscription was closed because nothing was read from it. Subscribe again after the last cursor.')
    this.cursor = cursor
  }
}
