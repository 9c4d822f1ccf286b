/** An in-memory source of events whose open iterators can be counted. Unbounded: for tests. */
export class Broadcast<Event> {
  readonly #open = new Set<{ push: (event: Event) => void }>()

  /** How many iterators there have been. */
  opened = 0

  /** Open iterators. */
  get size(): number {
    return this.#open.size
  }

  publish(event: Event): void {
    for (const { push } of [...this.#open]) push(event)
  }

  subscribe(): AsyncIterableIterator<Event> {
    const queue: Event[] = []
    let waiting: ((step: IteratorResult<Event>) => void) | null = null
    let done = false
    const member = {
      push: (event: Event) => {
        if (waiting === null) return void queue.push(event)
        waiting({ done: false, value: event })
        waiting = null
      },
    }
    this.#open.add(member)
    this.opened += 1
    const finish = (): Promise<IteratorResult<Event>> => {
      done = true
      this.#open.delete(member)
      waiting?.({ done: true, value: undefined })
      waiting = null
      return Promise.resolve({ done: true, value: undefined })
    }
    return {
      next: () => {
        if (done) return Promise.resolve({ done: true, value: undefined })
        if (queue.length > 0) return Promise.resolve({ done: false, value: queue.shift()! })
        return new Promise((resolve) => {
          waiting = resolve
        })
      },
      return: finish,
      throw: finish,
      [Symbol.asyncIterator]() {
        return this
      },
    }
  }

  /** A source that fails at its first event. */
  failing(error: Error): AsyncIterableIterator<Event> {
    return {
      next: () => Promise.reject(error),
      return: () => Promise.resolve({ done: true, value: undefined }),
      [Symbol.asyncIterator]() {
        return this
      },
    }
  }
}
