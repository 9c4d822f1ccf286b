import { before, bookmarkAt, isUnread, readUpTo, type Bookmark } from '../../src/events/bookmark.ts'
import { EventHub } from '../../src/events/hub.ts'
import type { LogEvent, LogPage, Timers } from '../../src/events/index.ts'
import { DEFAULT_LIMITS, EventStream, type StreamLimits, type StreamSource } from '../../src/events/stream.ts'
import { anEvent } from './events.ts'

/** A clock that a test turns by hand. */
export class TestTimers implements Timers {
  #now = 0
  readonly #waiting = new Set<{ at: number; callback: () => void }>()

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, callback }
    this.#waiting.add(timer)
    return () => this.#waiting.delete(timer)
  }

  /** How many are being waited for. */
  get size(): number {
    return this.#waiting.size
  }

  advance(ms: number): void {
    this.#now += ms
    for (const timer of [...this.#waiting].toSorted((a, b) => a.at - b.at))
      if (timer.at <= this.#now && this.#waiting.delete(timer)) timer.callback()
  }
}

/**
 * A log in memory, with the tail's and the reader's steps in the test's hand: an event is first committed, then
 * final, then published, and a read can be held at any point.
 */
export class FakeLog {
  readonly hub: EventHub
  readonly timers = new TestTimers()
  readonly events: LogEvent[] = []
  reads = 0
  /** Set: a read takes its snapshot, then waits for this before it answers. */
  holdReads: Promise<void> | null = null
  /** Set: the next reads fail with it. */
  failReads: Error | null = null
  #published = 0
  /** The reader sees so many; a standby may be behind. */
  #final = 0

  constructor() {
    this.hub = new EventHub(bookmarkAt(1, 1n))
  }

  /** Commits events, each in a transaction of its own (xid n for number n), not yet published. */
  commit(count = 1, { visible = true } = {}): void {
    for (let i = 0; i < count; i++) {
      const n = this.events.length + 1
      const position = { epoch: 1, xid: BigInt(n), id: BigInt(n) }
      this.events.push({ ...anEvent({ data: { n } }), position, recordedAt: new Date(0) })
    }
    if (visible) this.reveal()
  }

  reveal(): void {
    this.#final = this.events.length
  }

  /** The tail reads on. */
  publish(): void {
    const events = this.events.slice(this.#published)
    this.#published = this.events.length
    this.hub.publish(events, bookmarkAt(1, BigInt(this.events.length + 1)))
  }

  happen(count = 1): void {
    this.commit(count)
    this.publish()
  }

  read = async (after: Bookmark, limit: number): Promise<LogPage> => {
    this.reads++
    if (this.failReads !== null) throw this.failReads
    const found = this.events.slice(0, this.#final).filter((event) => isUnread(after, event.position))
    const events = found.slice(0, limit)
    const complete = events.length < limit
    const end = complete ? before(1, BigInt(this.#final + 1)) : events.at(-1)!.position
    if (this.holdReads !== null) await this.holdReads
    return { events, end: readUpTo(after, end), complete, readAt: new Date(0) }
  }

  /** A stream from a number on; its cursor is the number up to which everything has been given. */
  stream(after = 0, given: Partial<StreamSource<string>> & { limits?: StreamLimits } = {}): EventStream<string> {
    return new EventStream<string>({
      hub: this.hub,
      tenantId: anEvent().tenantId,
      from: bookmarkAt(1, BigInt(after + 1)),
      limits: DEFAULT_LIMITS,
      timers: this.timers,
      matches: () => true,
      read: this.read,
      cursorOf: ({ position }) => String(position.id === 0n ? position.xid - 1n : position.xid),
      ...given,
    })
  }
}

/** Takes items until `caughtUp` or `count` of them; each as a short text. */
export async function take(stream: EventStream<string>, count: number): Promise<string[]> {
  const items: string[] = []
  while (items.length < count) {
    const { done, value } = await stream.next()
    if (done) return [...items, 'done']
    items.push(value.kind === 'event' ? String(value.event.data['n']) : value.kind)
  }
  return items
}

export const range = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => String(from + index))
