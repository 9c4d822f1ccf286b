import type { Queryable } from '../database/index.ts'
import type { Bookmark } from './bookmark.ts'
import { CursorExpiredError } from './errors.ts'
import type { EventHub } from './hub.ts'
import { currentWatermark, readEvents, type LogPage } from './read.ts'
import { systemTimers, type Timers } from './timers.ts'

/** The part of pino that the tail writes to. */
export interface TailLogger {
  warn(details: object, message: string): void
  info(details: object, message: string): void
}

export interface TailPace {
  /** Shortest time between two reads, and the wait after one that found something. */
  readonly busyMs: number
  /** Longest wait while nothing happens: what an event of a process that gives no hint waits at most. */
  readonly idleMs: number
  /** First and longest wait while the database is away. */
  readonly retryMs: number
  readonly mostRetryMs: number
}

export const DEFAULT_PACE: TailPace = { busyMs: 5, idleMs: 250, retryMs: 100, mostRetryMs: 5_000 }

export interface TailOptions {
  readonly database: Queryable
  readonly hub: EventHub
  readonly pace?: TailPace
  readonly timers?: Timers
  readonly logger?: TailLogger
  /** After every page with events: how many, and the time from the last one's recording to its reading, in seconds. */
  readonly onRead?: (read: { events: number; lagSeconds: number }) => void
}

/**
 * Reads new events of the log and hands them to the hub; one per process. Polling is the truth: it slows down
 * while nothing happens, and `hint` wakes it. It outlives restarts of the database.
 */
export class EventTail {
  readonly #options: TailOptions
  readonly #pace: TailPace
  readonly #timers: Timers
  #loop: Promise<void> | null = null
  #starting: Promise<void> | null = null
  #hinted = false
  #wake: () => void = () => {}
  #stopping = false
  #failures = 0

  constructor(options: TailOptions) {
    this.#options = options
    this.#pace = options.pace ?? DEFAULT_PACE
    this.#timers = options.timers ?? systemTimers
  }

  /** Begins at the present watermark. Rejects when the database cannot be read now; can be called again. */
  start(): Promise<void> {
    this.#starting ??= this.#begin().catch((error: unknown) => {
      this.#starting = null
      throw error
    })
    return this.#starting
  }

  /** Waits for the read in progress; afterwards nothing is published any more. */
  async stop(): Promise<void> {
    await this.#starting?.catch(() => {})
    this.#stopping = true
    this.#wake()
    await this.#loop
    this.#loop = this.#starting = null
    this.#stopping = false
  }

  /** Somebody has committed events: read now. Any number of hints between two reads count as one. */
  hint(): void {
    this.#hinted = true
    this.#wake()
  }

  /** The database cannot be read at present. */
  get failing(): boolean {
    return this.#failures > 0
  }

  async #begin(): Promise<void> {
    const now = await currentWatermark(this.#options.database)
    this.#options.hub.publish([], now)
    this.#loop = this.#run(now)
  }

  async #run(from: Bookmark): Promise<void> {
    const { busyMs, idleMs, retryMs, mostRetryMs } = this.#pace
    let bookmark = from
    let wait = busyMs
    while (!this.#stopping) {
      const hinted = this.#hinted
      this.#hinted = false
      try {
        const page = await this.#readOn(bookmark)
        await this.#publish(page)
        bookmark = page.end
        if (!page.complete) continue
        wait = hinted || page.events.length > 0 ? busyMs : Math.min(wait * 2, idleMs)
      } catch (error) {
        this.#failed(error)
        await this.#pause(Math.min(retryMs * 2 ** (this.#failures - 1), mostRetryMs), false)
        continue
      }
      // Not before `busyMs`, however many hints come: that bounds what the tail costs.
      await this.#pause(busyMs, false)
      if (wait > busyMs) await this.#pause(wait - busyMs, true)
    }
  }

  async #readOn(after: Bookmark): Promise<LogPage> {
    const { database, hub } = this.#options
    try {
      const page = await readEvents(database, { tenantId: null, after, limit: PAGE })
      this.#recovered()
      return page
    } catch (error) {
      if (!(error instanceof CursorExpiredError)) throw error
      // A raised epoch, a restore, or an outage longer than the retention: what the subscribers missed is gone,
      // so each is told, and the tail begins anew.
      const now = await currentWatermark(database)
      hub.endAll(error, now)
      return { events: [], end: now, complete: true, readAt: new Date(0) }
    }
  }

  /** In slices with a turn of the event loop in between, so that consumers that keep up never see a full queue. */
  async #publish({ events, end, readAt }: LogPage): Promise<void> {
    const { hub, onRead } = this.#options
    for (let from = 0; from < events.length && !this.#stopping; from += SLICE) {
      const slice = events.slice(from, from + SLICE)
      hub.publish(slice, { ...end, position: slice.at(-1)!.position })
      await new Promise((resolve) => setImmediate(resolve))
    }
    if (this.#stopping) return
    hub.publish([], end)
    const last = events.at(-1)
    if (last !== undefined)
      onRead?.({ events: events.length, lagSeconds: (readAt.getTime() - last.recordedAt.getTime()) / 1000 })
  }

  #pause(ms: number, hintEndsIt: boolean): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#timers.after(ms, resolve)
      this.#wake = () => {
        if (!this.#stopping && !(hintEndsIt && this.#hinted)) return
        cancel()
        resolve()
      }
      this.#wake()
    })
  }

  /** One line per outage, not one per attempt. */
  #failed(error: unknown): void {
    this.#failures++
    if (this.#failures === 1)
      this.#options.logger?.warn(
        { err: error },
        'The event tail cannot read the log; it keeps trying. Subscriptions wait.',
      )
  }

  #recovered(): void {
    if (this.#failures > 0)
      this.#options.logger?.info(
        { attempts: this.#failures },
        'The event tail reads the log again; nothing was missed.',
      )
    this.#failures = 0
  }
}

const PAGE = 500
const SLICE = 64
