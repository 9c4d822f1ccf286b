import type { Queryable } from '../database/index.ts'
import type { Bookmark } from './bookmark.ts'
import type { CursorCodec } from './cursor.ts'
import { InvalidCursorError } from './errors.ts'
import { EVENTS, type EventLog } from './log.ts'
import { LogStream, type LogPace } from './log-stream.ts'
import { readLog } from './read.ts'
import { currentBookmark } from './snapshot.ts'
import { systemTimers, type Timers } from './timers.ts'

export interface LogFeedOptions<Columns> {
  readonly database: Queryable
  readonly codec: CursorCodec
  readonly log: EventLog<Columns>
  readonly pace?: LogPace
  readonly timers?: Timers
}

export interface FollowOptions {
  /** A list or undefined per filter of the log, in the log's order: only rows that fit all of them. */
  readonly filters?: readonly (readonly string[] | undefined)[]
  /** Resume after this cursor. Without it: from now on. */
  readonly after?: string | null | undefined
  /** Tenants (the installation is one) whose moments in the domains' log are places here too. */
  readonly momentsOf?: readonly string[]
  /** Ends the stream as `return()` does. */
  readonly signal?: AbortSignal | undefined
}

/**
 * The streams of a log that is too busy for one reader to hand on everything: the job engine's, with tens of
 * thousands of rows a second. Nothing is read while nobody follows, and each follower reads for itself with its
 * filters in the statement, so that a row nobody wants never leaves the database. For few followers; the domains'
 * log, with many of them, has an EventFeed.
 */
export class LogFeed<Columns> {
  readonly #options: LogFeedOptions<Columns>
  readonly #streams = new Set<LogStream<Columns>>()
  #stopped = false

  constructor(options: LogFeedOptions<Columns>) {
    this.#options = options
  }

  /** How many streams are open. */
  get size(): number {
    return this.#streams.size
  }

  /** Something was committed: whoever waits reads at once. */
  hint(): void {
    for (const stream of this.#streams) stream.hint()
  }

  /** Ends every stream as if all had been said; later ones end at once. */
  stop(): void {
    this.#stopped = true
    for (const stream of [...this.#streams]) stream.end(null)
  }

  /**
   * Opens a stream: the log after the cursor, `caughtUp`, then what happens. Throws InvalidCursorError or
   * CursorExpiredError; the stream itself may end with CursorExpiredError.
   */
  async follow({ filters = [], after, momentsOf = [], signal }: FollowOptions): Promise<LogStream<Columns>> {
    const { database, codec, log, pace, timers = systemTimers } = this.#options
    const from = after == null ? await currentBookmark(database) : this.#placeOf(after, momentsOf)
    const abort = () => stream.end(null)
    const stream = new LogStream<Columns>({
      from,
      timers,
      pace,
      read: (place, limit) => readLog(database, log, { tenantId: null, after: place, limit, filters }),
      cursorOf: (place) => codec.encode(log, null, place),
      onEnd: () => {
        this.#streams.delete(stream)
        signal?.removeEventListener('abort', abort)
      },
    })
    this.#streams.add(stream)
    signal?.addEventListener('abort', abort)
    if (signal?.aborted === true || this.#stopped) stream.end(null)
    else await stream.open()
    return stream
  }

  #placeOf(cursor: string, momentsOf: readonly string[]): Bookmark {
    const { codec, log } = this.#options
    const own = decoded(() => codec.decode(log, null, cursor))
    if (own !== null) return own
    for (const tenantId of momentsOf) {
      const moment = decoded(() => codec.decode(EVENTS, tenantId, cursor))
      // The cursor of a mutation or a query names a snapshot of the database and no event: it is a place in every
      // log. One that stands at an event says nothing of another log's rows of the same transaction.
      if (moment?.position.id === 0n) return moment
    }
    throw new InvalidCursorError()
  }
}

function decoded(decode: () => Bookmark): Bookmark | null {
  try {
    return decode()
  } catch (error) {
    if (error instanceof InvalidCursorError) return null
    throw error
  }
}
