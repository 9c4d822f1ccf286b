import { isUnreachable } from '../database/index.ts'
import { readUpTo, type Bookmark } from './bookmark.ts'
import type { LogPosition } from './event.ts'
import type { LogPage } from './read.ts'
import type { Timers } from './timers.ts'

/** What a stream of a log yields. Every item carries the cursor to resume after it. */
export type LogItem<Columns> =
  | { readonly kind: 'event'; readonly event: Columns & { readonly position: LogPosition }; readonly cursor: string }
  /** Everything that had happened has been given; what follows happens now. Comes once. */
  | { readonly kind: 'caughtUp'; readonly cursor: string }

export interface LogPace {
  /** Rows per read. */
  readonly pageItems: number
  /** Shortest time between two reads that reached the end of the log, whatever the hints. */
  readonly busyMs: number
  /** Longest wait while nothing happens. */
  readonly idleMs: number
  /** First and longest wait while the database is away. */
  readonly retryMs: number
  readonly mostRetryMs: number
}

export const DEFAULT_LOG_PACE: LogPace = { pageItems: 256, busyMs: 50, idleMs: 1_000, retryMs: 100, mostRetryMs: 5_000 }

export interface LogStreamSource<Columns> {
  readonly from: Bookmark
  readonly timers: Timers
  readonly pace: LogPace | undefined
  readonly read: (after: Bookmark, limit: number) => Promise<LogPage<Columns & { readonly position: LogPosition }>>
  readonly cursorOf: (place: Bookmark) => string
  readonly onEnd: () => void
}

/**
 * One follower's rows of a log, read page by page as they are taken: whoever takes nothing costs nothing, and
 * nothing is kept for them but one page. It outlives restarts of the database. As in EventStream no `async
 * function*`, whose `return()` would queue behind a `next()` that waits.
 */
export class LogStream<Columns> implements AsyncIterableIterator<LogItem<Columns>> {
  readonly #source: LogStreamSource<Columns>
  readonly #pace: LogPace
  readonly #ready: LogItem<Columns>[] = []
  /** How far it has read. */
  #place: Bookmark
  #caughtUp = false
  #wait = 0
  #failures = 0
  #hinted = false
  #end: { readonly error: Error | null } | null = null
  #pulls: Promise<unknown> = Promise.resolve()
  #wake: () => void = () => {}

  constructor(source: LogStreamSource<Columns>) {
    this.#source = source
    this.#pace = source.pace ?? DEFAULT_LOG_PACE
    this.#place = source.from
  }

  /** Reads the first page, so that a cursor that has expired is told before the stream is handed out. */
  async open(): Promise<void> {
    try {
      await this.#read()
    } catch (error) {
      this.end(null)
      throw error
    }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** The next item; waits for it. Calls that overlap are answered in their order. */
  next(): Promise<IteratorResult<LogItem<Columns>>> {
    const pull = this.#pulls.then(() => this.#pull())
    this.#pulls = pull.catch(() => {})
    return pull
  }

  /** Done at once, also while a `next` is waiting: that one is done too. */
  async return(): Promise<IteratorReturnResult<undefined>> {
    this.end(null)
    return DONE
  }

  async throw(error: unknown): Promise<IteratorReturnResult<undefined>> {
    this.end(null)
    throw error
  }

  /** Something was committed: do not wait out the pause. */
  hint(): void {
    this.#hinted = true
    this.#wake()
  }

  /** The waiting or the next `next` rejects with the error, or is done when there is none. */
  end(error: Error | null): void {
    if (this.#end !== null) return
    this.#end = { error }
    this.#ready.length = 0
    this.#source.onEnd()
    this.#wake()
  }

  async #pull(): Promise<IteratorResult<LogItem<Columns>>> {
    for (;;) {
      if (this.#end !== null) return this.#ended()
      const item = this.#ready.shift()
      if (item !== undefined) return { done: false, value: item }
      await this.#pause()
      if (this.#end === null) await this.#readOn()
    }
  }

  async #readOn(): Promise<void> {
    const { retryMs, mostRetryMs } = this.#pace
    try {
      await this.#read()
      this.#failures = 0
    } catch (error) {
      if (!isUnreachable(error)) return this.end(error as Error)
      this.#wait = Math.min(retryMs * 2 ** this.#failures++, mostRetryMs)
    }
  }

  async #read(): Promise<void> {
    const { read, cursorOf } = this.#source
    const { pageItems, busyMs, idleMs } = this.#pace
    this.#hinted = false
    const page = await this.#unlessEnded(read(this.#place, pageItems))
    if (page === undefined) return
    for (const event of page.events) {
      this.#place = readUpTo(this.#place, event.position)
      this.#ready.push({ kind: 'event', event, cursor: cursorOf(this.#place) })
    }
    this.#place = page.end
    if (!page.complete) this.#wait = 0
    else this.#wait = page.events.length > 0 ? busyMs : Math.min(Math.max(this.#wait, busyMs) * 2, idleMs)
    if (!page.complete || this.#caughtUp) return
    this.#caughtUp = true
    this.#ready.push({ kind: 'caughtUp', cursor: cursorOf(page.end) })
  }

  /** A hint shortens it to `busyMs`: however many come, they cost a bounded number of reads. */
  async #pause(): Promise<void> {
    const first = Math.min(this.#wait, this.#pace.busyMs)
    const rest = this.#wait - first
    if (first > 0) await this.#elapsed(first, () => false)
    if (rest > 0 && this.#end === null) await this.#elapsed(rest, () => this.#hinted && this.#failures === 0)
  }

  #elapsed(ms: number, cutShort: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#source.timers.after(ms, resolve)
      this.#wake = () => {
        if (this.#end === null && !cutShort()) return
        cancel()
        resolve()
      }
      this.#wake()
    })
  }

  /** The work's result, or undefined as soon as the stream ends. */
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
    if (error != null) throw error
    return DONE
  }
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }
