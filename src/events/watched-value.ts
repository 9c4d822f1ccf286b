import { isUnreachable } from '../database/index.ts'
import { systemTimers, type Timers } from './timers.ts'

export interface WatchedValueOptions<T> {
  readonly read: () => Promise<T>
  /** Shortest time between two reads, in milliseconds: what all followers together cost. */
  readonly everyMs: number
  readonly timers?: Timers
}

/**
 * A value that is derived from many rows and has no events of its own, read again and again while somebody follows
 * it: once for all followers of the process, and not at all without any. A follower gets the present value first,
 * then each that differs from the one before; who is slow gets the newest and never a backlog.
 */
export class WatchedValue<T> {
  readonly #options: WatchedValueOptions<T>
  readonly #timers: Timers
  readonly #followers = new Set<Follower<T>>()
  #last: { readonly value: T; readonly text: string } | null = null
  #running = false
  #stopped = false

  constructor(options: WatchedValueOptions<T>) {
    this.#options = options
    this.#timers = options.timers ?? systemTimers
  }

  /** How many follow it. */
  get size(): number {
    return this.#followers.size
  }

  /** @param signal Ends it as `return()` does. */
  follow(signal?: AbortSignal): AsyncIterableIterator<T> {
    const abort = () => follower.end(null)
    const follower = new Follower<T>(() => {
      this.#followers.delete(follower)
      signal?.removeEventListener('abort', abort)
    })
    this.#followers.add(follower)
    signal?.addEventListener('abort', abort)
    if (signal?.aborted === true || this.#stopped) follower.end(null)
    else if (this.#last !== null) follower.offer(this.#last.value)
    if (!this.#running && this.#followers.size > 0) void this.#run()
    return follower
  }

  /** Ends every follower; later ones end at once. */
  stop(): void {
    this.#stopped = true
    for (const follower of [...this.#followers]) follower.end(null)
  }

  async #run(): Promise<void> {
    this.#running = true
    while (this.#followers.size > 0) {
      await this.#look()
      await new Promise<void>((resolve) => this.#timers.after(this.#options.everyMs, resolve))
    }
    // What was read for others would be stale for whoever comes next.
    this.#last = null
    this.#running = false
  }

  async #look(): Promise<void> {
    try {
      const value = await this.#options.read()
      const text = JSON.stringify(value)
      if (text === this.#last?.text) return
      this.#last = { value, text }
      for (const follower of this.#followers) follower.offer(value)
    } catch (error) {
      // Followers wait until the database is back; anything else they are told.
      if (!isUnreachable(error)) for (const follower of [...this.#followers]) follower.end(error as Error)
    }
  }
}

/** Holds the newest value only. Written by hand for the same reason as EventStream. */
class Follower<T> implements AsyncIterableIterator<T> {
  readonly #onEnd: () => void
  #newest: { readonly value: T } | null = null
  #end: { error: Error | null } | null = null
  #pulls: Promise<unknown> = Promise.resolve()
  #wake: () => void = () => {}

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd
  }

  offer(value: T): void {
    this.#newest = { value }
    this.#wake()
  }

  end(error: Error | null): void {
    if (this.#end !== null) return
    this.#end = { error }
    this.#onEnd()
    this.#wake()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<T>> {
    const pull = this.#pulls.then(() => this.#pull())
    this.#pulls = pull.catch(() => {})
    return pull
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.end(null)
    return { done: true, value: undefined }
  }

  async #pull(): Promise<IteratorResult<T>> {
    for (;;) {
      if (this.#end !== null) {
        const { error } = this.#end
        this.#end = { error: null }
        if (error !== null) throw error
        return { done: true, value: undefined }
      }
      const newest = this.#newest
      this.#newest = null
      if (newest !== null) return { done: false, value: newest.value }
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }
}
