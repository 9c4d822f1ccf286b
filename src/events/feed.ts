import type { Database, Tx } from '../database/index.ts'
import type { Bookmark } from './bookmark.ts'
import type { CursorCodec } from './cursor.ts'
import type { LogEvent } from './event.ts'
import { HintChannel } from './hint-channel.ts'
import { EventHub } from './hub.ts'
import { EVENTS } from './log.ts'
import { readEvents } from './read.ts'
import { currentBookmark } from './snapshot.ts'
import { DEFAULT_LIMITS, EventStream, type StreamLimits } from './stream.ts'
import { EventTail, type TailOptions } from './tail.ts'
import { systemTimers } from './timers.ts'

export interface FeedOptions extends Omit<TailOptions, 'hub'> {
  readonly database: Database
  readonly codec: CursorCodec
  /** Also carry hints between processes by NOTIFY. Not behind a pooler in transaction mode. Default false. */
  readonly notify?: boolean
  readonly limits?: Partial<StreamLimits>
}

/** Which events a subscription gets. What is named must all fit. */
export interface EventFilter {
  readonly kinds?: readonly string[]
  readonly subjectIds?: readonly string[]
  /** Anything else that an event itself tells. Pure and fast: it runs for each event of the tenant. */
  readonly where?: (event: LogEvent) => boolean
}

export interface SubscribeOptions<Snapshot> {
  /** Null for an operator's stream over all tenants; such a stream has cursors of its own. */
  readonly tenantId: string | null
  readonly filter?: EventFilter
  /** Resume after this cursor. Without it: from the snapshot, or else from now on. */
  readonly after?: string | null | undefined
  /** Reads the present state, which the stream gives first; not called when `after` is given. Needs a tenant. */
  readonly snapshot?: ((tx: Tx) => Promise<Snapshot>) | undefined
  /** Ends the stream as `return()` does. */
  readonly signal?: AbortSignal | undefined
  /** Once, when the stream ends for whatever reason; with the error that cut it off, for a transport that stands still. */
  readonly onEnd?: ((error: Error | null) => void) | undefined
}

/** The live events of a process: one tail, its hub, and the streams of the subscribers. */
export class EventFeed {
  readonly #options: FeedOptions
  readonly #hub = new EventHub()
  readonly #tail: EventTail
  readonly #hints: HintChannel | null
  #running = false

  constructor(options: FeedOptions) {
    this.#options = options
    this.#tail = new EventTail({ ...options, hub: this.#hub })
    this.#hints = options.notify === true ? new HintChannel(options.database.pool, 'regie_event', options.timers) : null
  }

  /** Begins to read. Rejects when the database cannot be read now; can be called again. */
  async start(): Promise<void> {
    await this.#tail.start()
    this.#running = true
    await this.#hints?.listen(() => this.#tail.hint())
  }

  /** Ends every stream as if all had been said, and stops reading. Can be called again. */
  async stop(): Promise<void> {
    this.#running = false
    this.#hints?.stop()
    this.#hub.endAll(null)
    await this.#tail.stop()
  }

  /** Call after a commit that wrote events, here or in a worker thread: subscribers get them at once. */
  hint(): void {
    this.#tail.hint()
    this.#hints?.announce()
  }

  /** How many streams are open. */
  get size(): number {
    return this.#hub.size
  }

  /** The log cannot be read at present; streams wait. */
  get failing(): boolean {
    return this.#tail.failing
  }

  /**
   * Opens a stream: the snapshot or the log after the cursor, `caughtUp`, then what happens. The feed must have been
   * started. Throws InvalidCursorError, CursorExpiredError, or what the snapshot throws; the stream itself may end
   * with CursorExpiredError or SlowConsumerError.
   */
  async subscribe<Snapshot = never>(options: SubscribeOptions<Snapshot>): Promise<EventStream<Snapshot>> {
    const { database, codec, limits, timers } = this.#options
    const { filter = {}, signal } = options
    // As the log spells it, by which the hub finds the listeners of an event.
    const tenantId = options.tenantId?.toLowerCase() ?? null
    const { from, snapshot } = await this.#beginning(options)
    const abort = () => stream.end(null)
    const stream = new EventStream<Snapshot>({
      hub: this.#hub,
      tenantId,
      from,
      snapshot,
      limits: { ...DEFAULT_LIMITS, ...limits },
      timers: timers ?? systemTimers,
      matches: matcher(filter),
      read: (after, limit) =>
        readEvents(database, { tenantId, after, limit, kinds: filter.kinds, subjectIds: filter.subjectIds }),
      cursorOf: (bookmark, event) =>
        event === undefined || tenantId === null
          ? codec.encode(EVENTS, tenantId, bookmark)
          : codec.ofEvent(EVENTS, event, bookmark),
      onEnd: (error) => {
        signal?.removeEventListener('abort', abort)
        options.onEnd?.(error)
      },
    })
    signal?.addEventListener('abort', abort)
    if (signal?.aborted || !this.#running) stream.end(null)
    else await stream.open()
    return stream
  }

  async #beginning<Snapshot>({
    tenantId,
    after,
    snapshot,
  }: SubscribeOptions<Snapshot>): Promise<{ from: Bookmark; snapshot?: { state: Snapshot } }> {
    const { database, codec } = this.#options
    if (after != null) return { from: codec.decode(EVENTS, tenantId, after) }
    if (snapshot === undefined) return { from: await currentBookmark(database) }
    if (tenantId === null) throw new Error('A stream over all tenants has no snapshot.')
    // One snapshot of the database for the state and for the place in the log that goes with it.
    return database.transaction(
      tenantId,
      async (tx) => ({ from: await currentBookmark(tx), snapshot: { state: await snapshot(tx) } }),
      { isolation: 'RepeatableRead' },
    )
  }
}

function matcher({ kinds, subjectIds, where }: EventFilter): (event: LogEvent) => boolean {
  const kindSet = kinds && new Set(kinds)
  const idSet = subjectIds && new Set(subjectIds.map((id) => id.toLowerCase()))
  return (event) =>
    (kindSet?.has(event.subjectKind) ?? true) && (idSet?.has(event.subjectId) ?? true) && (where?.(event) ?? true)
}
