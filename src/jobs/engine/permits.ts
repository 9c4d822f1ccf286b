/**
 * A number of permits, given in the order asked for. Keeps the transactions of handlers below the size of the
 * pool: with every connection in a transaction, the engine's own statements would wait for ever (tried).
 */
export class Permits {
  readonly count: number
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(count: number) {
    this.count = count
    this.#free = count
  }

  async with<T>(act: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await act()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free++
      else next()
    }
  }
}
