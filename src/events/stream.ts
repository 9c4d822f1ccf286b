import { comparePositions, isUnread, readUpTo, type Bookmark } from './bookmark.ts'
import { SlowConsumerError } from './errors.ts'
import type { LogEvent } from './event.ts'
import type { EventHub, Listener } from './hub.ts'
import type { LogPage } from './read.ts'
import type { Timers } from './timers.ts'

/** What a stream yields. Every item carries the cursor to resume after it. */
export type StreamItem<Snapshot = never> =
  | { readonly kind: 'snapshot'; readonly snapshot: Snapshot; readonly cursor: string }
  | { readonly kind: 'event'; readonly event: LogEvent; readonly cursor: string }
  /** Everything that had happened has been given; what follows happens now. Comes once. */
  | { readonly kind: 'caughtUp'; readonly cursor: string }

export interface StreamLimits {
  /** Most events that wait in memory for a slow consumer; then it is served from the log. */
  readonly queueItems: number
  readonly queueBytes: number
  /** Events per read of the log. */
  readonly pageItems: number
  /** A consumer that has fallen behind and takes nothing for so long is cut off. */
  readonly standstillMs: number
  /** Wait before the log is read again when it does not yet show what the hub had already published. */
  readonly rereadMs: number
}

export const DEFAULT_LIMITS: StreamLimits = {
  queueItems: 256,
  queueBytes: 1024 * 1024,
  pageItems: 256,
  standstillMs: 30_000,
  rereadMs: 20,
}

/** What a stream needs of the process around it. */
export interface StreamSource<Snapshot> {
  readonly hub: EventHub
  readonly tenantId: string | null
  readonly from: Bookmark
  /** The state that was read together with `from`. */
  readonly snapshot?: { readonly state: Snapshot } | undefined
  readonly limits: StreamLimits
  readonly timers: Timers
  readonly matches: (event: LogEvent) => boolean
  readonly read: (after: Bookmark, limit: number) => Promise<LogPage>
  /** The cursor of a bookmark; `event` when it stands right at that event. */
  readonly cursorOf: (bookmark: Bookmark, event?: LogEvent) => string
  readonly onEnd?: ((error: Error | null) => void) | undefined
}

/**
 * One subscriber's events: first what the log holds after its bookmark, then what the hub hands on, without a gap
 * or a double in between. Written by hand and not as an `async function*`: there `return()` queues behind the
 * pending `next()`, so that a subscriber who leaves on a quiet topic stays attached for ever.
 *
 * It is in one of two modes. *Log*: it reads pages; the queue meanwhile collects what is published, from the place
 * that the hub had reached when collecting began, and once a page ends beyond that place the stream goes *live*
 * and takes from the queue. A queue that runs over is dropped, which puts the stream back into log mode: nothing
 * is lost, since the bookmark knows where it stands, and memory stays bounded.
 */
export class EventStream<Snapshot = never> implements AsyncIterableIterator<StreamItem<Snapshot>>, Listener {
  readonly tenantId: string | null
  readonly #source: StreamSource<Snapshot>
  readonly #detach: () => void
  /** How far it has read: up to the last of `#ready`, or else to the last item taken. */
  #bookmark: Bookmark
  #mode: 'log' | 'live' = 'log'
  readonly #ready: StreamItem<Snapshot>[] = []
  #lastCursor: string
  #caughtUp = false
  /** Everything published after this is in the queue; null when nothing is collected. */
  #collectingFrom: Bookmark | null
  #queue: { event: LogEvent; bytes: number }[] = []
  #queueBytes = 0
  /** The queue ran over and the log has not been read up to now since. */
  #behind = false
  #end: { error: Error | null } | null = null
  #pulls: Promise<unknown> = Promise.resolve()
  #pulling = 0
  #wake: () => void = () => {}
  #stopWatch: (() => void) | null = null

  constructor(source: StreamSource<Snapshot>) {
    this.#source = source
    this.tenantId = source.tenantId
    this.#bookmark = source.from
    this.#lastCursor = source.cursorOf(source.from)
    if (source.snapshot !== undefined)
      this.#ready.push({ kind: 'snapshot', snapshot: source.snapshot.state, cursor: this.#lastCursor })
    this.#collectingFrom = source.hub.reached
    this.#detach = source.hub.attach(this)
  }

  /** Reads the first page, so that a bookmark that has expired is told before the stream is handed out. */
  async open(): Promise<void> {
    try {
      await this.#readOn()
    } catch (error) {
      this.end(null)
      throw error
    }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** The next item; waits for it. Calls that overlap are answered in their order. */
  next(): Promise<IteratorResult<StreamItem<Snapshot>>> {
    this.#pulling++
    this.#watch()
    const pull = this.#pulls.then(() => this.#pull())
    const settled = () => {
      this.#pulling--
      this.#watch()
    }
    this.#pulls = pull.then(settled, settled)
    return pull
  }

  /** Detaches at once, also while a `next` is waiting: that one is done too. */
  async return(): Promise<IteratorReturnResult<undefined>> {
    this.end(null)
    return DONE
  }

  async throw(error: unknown): Promise<IteratorReturnResult<undefined>> {
    this.end(null)
    throw error
  }

  offer(event: LogEvent, bytes: number): void {
    if (this.#collectingFrom === null) return
    try {
      if (!this.#source.matches(event)) return
    } catch (error) {
      this.end(error as Error)
      return
    }
    const { queueItems, queueBytes } = this.#source.limits
    if (this.#queue.length < queueItems && this.#queueBytes + bytes <= queueBytes) {
      this.#queue.push({ event, bytes })
      this.#queueBytes += bytes
    } else {
      this.#dropQueue()
      this.#mode = 'log'
      this.#behind = true
      this.#watch()
    }
    this.#wake()
  }

  /** The waiting or the next `next` rejects with the error, or is done when there is none. */
  end(error: Error | null): void {
    if (this.#end !== null) return
    this.#end = { error }
    this.#detach()
    this.#dropQueue()
    this.#ready.length = 0
    this.#watch()
    this.#wake()
    this.#source.onEnd?.(error)
  }

  async #pull(): Promise<IteratorResult<StreamItem<Snapshot>>> {
    for (;;) {
      if (this.#end !== null) return this.#ended()
      const item = this.#ready.shift() ?? (this.#mode === 'live' ? this.#takeQueued() : undefined)
      if (item !== undefined) {
        this.#lastCursor = item.cursor
        return { done: false, value: item }
      }
      if (this.#mode === 'live') await new Promise<void>((resolve) => (this.#wake = resolve))
      else await this.#readOn().catch((error: Error) => this.end(error))
    }
  }

  #takeQueued(): StreamItem<Snapshot> | undefined {
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      this.#queueBytes -= next.bytes
      if (isUnread(this.#bookmark, next.event.position)) return this.#read(next.event)
    }
    return undefined
  }

  async #readOn(): Promise<void> {
    const { hub, limits, read, matches, cursorOf, timers } = this.#source
    this.#collectingFrom ??= hub.reached
    const page = await this.#unlessEnded(read(this.#bookmark, limits.pageItems))
    if (page === undefined) return
    for (const event of page.events) if (matches(event)) this.#ready.push(this.#read(event))
    this.#bookmark = page.end
    // A queue that ran over during the read starts anew with the next one.
    if (!page.complete || this.#collectingFrom === null) return
    // The page may come from a standby that is behind the server that the tail reads: read again, in a while.
    if (comparePositions(page.end.position, this.#collectingFrom.position) < 0) {
      if (this.#ready.length > 0) return
      await this.#unlessEnded(new Promise<void>((resolve) => timers.after(limits.rereadMs, resolve)))
      return
    }
    this.#mode = 'live'
    this.#behind = false
    if (this.#caughtUp) return
    this.#caughtUp = true
    this.#ready.push({ kind: 'caughtUp', cursor: cursorOf(page.end) })
  }

  #read(event: LogEvent): StreamItem<Snapshot> {
    this.#bookmark = readUpTo(this.#bookmark, event.position)
    return { kind: 'event', event, cursor: this.#source.cursorOf(this.#bookmark, event) }
  }

  #dropQueue(): void {
    this.#collectingFrom = null
    this.#queue = []
    this.#queueBytes = 0
  }

  /** Starts or stops the clock that cuts off a consumer that has fallen behind and takes nothing. */
  #watch(): void {
    if (this.#behind && this.#pulling === 0 && this.#end === null) {
      this.#stopWatch ??= this.#source.timers.after(this.#source.limits.standstillMs, () =>
        this.end(new SlowConsumerError(this.#lastCursor)),
      )
    } else {
      this.#stopWatch?.()
      this.#stopWatch = null
    }
  }

  /** The work's result, or undefined as soon as the stream ends. A promise per wait: a race against one that lives as long as the stream would keep every reaction. */
  #unlessEnded<T>(work: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      this.#wake = () => {
        if (this.#end !== null) resolve(undefined)
      }
      work.then(resolve, reject)
    })
  }

  #ended(): IteratorReturnResult<undefined> {
    const error = this.#end?.error
    this.#end = { error: null }
    if (error) throw error
    return DONE
  }
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }
