/** Something that is done again and again, one round after the other, until it is stopped. */
export class Rounds {
  readonly #round: () => Promise<number>
  #timer: NodeJS.Timeout | null = null
  #running: Promise<void> = Promise.resolve()
  #stopped = false

  /** @param round answers with the wait until the next one, in milliseconds; never rejects */
  constructor(round: () => Promise<number>) {
    this.#round = round
  }

  /** A second start is none: a worker thread begins again when the database went away while it began. */
  start(): void {
    if (this.#timer === null) this.#after(0)
  }

  /** Resolves when the round that is going on is done. */
  async stop(): Promise<void> {
    this.#stopped = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#running
  }

  #after(waitMs: number): void {
    if (this.#stopped) return
    this.#timer = setTimeout(() => {
      this.#running = this.#round().then((wait) => this.#after(wait))
    }, waitMs)
  }
}
