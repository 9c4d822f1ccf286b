import { isUnreachable } from '../../database/index.ts'

interface Piled<Item> {
  readonly item: Item
  failures: number
}

export interface PileOptions<Item> {
  /** Most items that go into one flush. */
  readonly most: number
  /** Writes the items in one go, or throws having written none of them. */
  readonly flush: (items: Item[]) => Promise<void>
  readonly onTrouble: (error: unknown, items: readonly Item[], again: string) => void
}

const FIRST_WAIT_MS = 50
const LONGEST_WAIT_MS = 30_000

/**
 * Items that pile up while the last flush is under way and then go together: the batch grows with the load and a
 * lone item waits for nothing. Nothing that was added is ever dropped: what cannot be written is tried again, at
 * growing intervals; when a batch fails for another reason than the connection it is halved, so that one bad item
 * ends up alone and the others get through.
 */
export class Pile<Item> {
  readonly #options: PileOptions<Item>
  #waiting: Piled<Item>[] = []
  /** Items that wait for their next try. */
  readonly #timers = new Set<NodeJS.Timeout>()
  #later = 0
  #underWay = 0
  #flushing = false
  #abandoned = false
  #emptied: (() => void)[] = []

  constructor(options: PileOptions<Item>) {
    this.#options = options
  }

  /** Items that are not written yet, those on their way included. */
  get size(): number {
    return this.#waiting.length + this.#underWay + this.#later
  }

  add(item: Item): void {
    this.#put({ item, failures: 0 })
  }

  /** Resolves when everything that was added is written; never, when the database stays away. */
  async empty(): Promise<void> {
    while (this.#flushing || this.size > 0) await new Promise<void>((resolve) => this.#emptied.push(resolve))
  }

  /**
   * Gives up what is not written yet, and whatever is added or fails from here on; the rescue of another worker ends
   * those jobs. Nothing is left that would keep the process, or the engine in it, from going.
   */
  abandon(): void {
    this.#abandoned = true
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
    this.#waiting = []
    this.#later = 0
  }

  #put(piled: Piled<Item>): void {
    if (this.#abandoned) return
    this.#waiting.push(piled)
    if (this.#flushing) return
    this.#flushing = true
    // Not at once: what ends in the same turn of the event loop goes together.
    setImmediate(() => void this.#flushAll())
  }

  async #flushAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const piled = this.#waiting.splice(0, this.#options.most)
      this.#underWay = piled.length
      await this.#flush(piled)
      this.#underWay = 0
    }
    this.#flushing = false
    const resolvers = this.#emptied
    this.#emptied = []
    for (const resolve of resolvers) resolve()
  }

  async #flush(piled: Piled<Item>[]): Promise<void> {
    const items = piled.map(({ item }) => item)
    try {
      await this.#options.flush(items)
    } catch (error) {
      if (piled.length > 1 && !isUnreachable(error)) {
        const half = piled.length >> 1
        await this.#flush(piled.slice(0, half))
        await this.#flush(piled.slice(half))
        return
      }
      const wait = Math.min(FIRST_WAIT_MS * 2 ** piled[0]!.failures, LONGEST_WAIT_MS)
      for (const one of piled) one.failures++
      this.#options.onTrouble(error, items, `${wait} ms`)
      this.#postpone(piled, wait)
    }
  }

  #postpone(piled: Piled<Item>[], wait: number): void {
    if (this.#abandoned) return
    this.#later += piled.length
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      this.#later -= piled.length
      for (const one of piled) this.#put(one)
    }, wait)
    this.#timers.add(timer)
  }
}
