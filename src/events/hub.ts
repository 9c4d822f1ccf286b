import type { UserError } from '../errors/index.ts'
import { bookmarkAt, type Bookmark } from './bookmark.ts'
import type { LogEvent } from './event.ts'

/** Who listens at the hub. Neither call may block or throw. */
export interface Listener {
  /** Null listens to all tenants. */
  readonly tenantId: string | null
  /** @param bytes About what the event takes in memory and on the wire. */
  offer(event: LogEvent, bytes: number): void
  /** The hub has no more for it: an error says why, null that the process stops. */
  end(error: UserError | null): void
}

/**
 * Hands each event that the tail reads to the listeners of its tenant. Our own, because Yoga's `createPubSub`
 * ends the process when one client stalls: its repeaters throw inside the publisher once 1,024 pushes wait.
 */
export class EventHub {
  readonly #listeners = new Map<string | null, Set<Listener>>()
  #reached: Bookmark
  #size = 0

  /** @param from Where the tail begins; every event after it will be published. */
  constructor(from: Bookmark = bookmarkAt(0, 0n)) {
    this.#reached = from
  }

  /** How many listen now. */
  get size(): number {
    return this.#size
  }

  /** Every event up to here has been published. What is attached now gets all that follow. */
  get reached(): Bookmark {
    return this.#reached
  }

  /** The returned function detaches, at once and any number of times. */
  attach(listener: Listener): () => void {
    const { tenantId } = listener
    const listeners = this.#listeners.get(tenantId) ?? new Set()
    this.#listeners.set(tenantId, listeners.add(listener))
    this.#size++
    return () => {
      if (!listeners.delete(listener)) return
      this.#size--
      if (listeners.size === 0 && this.#listeners.get(tenantId) === listeners) this.#listeners.delete(tenantId)
    }
  }

  /** Hands on a page of events; afterwards everything up to `reached` has been published. */
  publish(events: readonly LogEvent[], reached: Bookmark): void {
    for (const event of events) {
      const listeners = [this.#listeners.get(event.tenantId), this.#listeners.get(null)]
      if (listeners.every((set) => set === undefined)) continue
      const bytes = sizeOf(event)
      for (const set of listeners) for (const listener of set ?? []) listener.offer(event, bytes)
    }
    this.#reached = reached
  }

  /** Ends every listener: the log went on elsewhere (`reached` says where), or the process stops. */
  endAll(error: UserError | null, reached: Bookmark = this.#reached): void {
    this.#reached = reached
    for (const set of [...this.#listeners.values()]) for (const listener of [...set]) listener.end(error)
  }
}

// The columns of fixed length, in round numbers.
const sizeOf = (event: LogEvent): number => 400 + JSON.stringify(event.data).length
