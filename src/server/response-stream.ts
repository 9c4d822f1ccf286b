/** How a stream tells its iterator that nothing more comes. */
const DONE = { done: true, value: undefined } as const

/**
 * The answers of one subscription: takes each event from the source and makes the answer to it. Written by hand
 * because an `async function*` queues `return()` behind the `next()` that waits for an event: a client that left
 * a quiet stream would keep its listener for ever. Here `return()` and `end()` are immediate: the source is let
 * go and whoever waits gets an answer at once. At most one `next()` is open at a time, as in a `for await`.
 */
export class ResponseStream<Event, Answer> implements AsyncIterableIterator<Answer, undefined> {
  readonly #source: AsyncIterator<Event>
  readonly #answer: (event: Event) => Promise<Answer>
  readonly #ending: (error: unknown) => Error
  readonly #onClose: () => void
  #closed = false
  #lastError: Error | null = null
  #waiting: { resolve: (step: IteratorResult<Answer, undefined>) => void; reject: (error: Error) => void } | null = null

  /**
   * @param ending turns whatever ends the stream into the error that the client gets.
   * @param onClose called once, however the stream ends.
   */
  constructor(
    source: AsyncIterator<Event>,
    answer: (event: Event) => Promise<Answer>,
    ending: (error: unknown) => Error,
    onClose: () => void,
  ) {
    this.#source = source
    this.#answer = answer
    this.#ending = ending
    this.#onClose = onClose
  }

  get closed(): boolean {
    return this.#closed
  }

  next(): Promise<IteratorResult<Answer, undefined>> {
    const error = this.#lastError
    if (error !== null) {
      this.#lastError = null
      return Promise.reject(error)
    }
    if (this.#closed) return Promise.resolve(DONE)
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#pull().then(
        (step) => this.#settle(step),
        (failure: unknown) => this.end(failure),
      )
    })
  }

  /** Ends the stream for a reason: the open or the next `next()` fails with it, once. */
  end(reason: unknown): void {
    if (this.#closed) return
    const error = this.#ending(reason)
    const waiting = this.#waiting
    if (waiting === null) this.#lastError = error
    this.#close()
    waiting?.reject(error)
  }

  return(): Promise<IteratorResult<Answer, undefined>> {
    this.#lastError = null
    const waiting = this.#waiting
    this.#close()
    waiting?.resolve(DONE)
    return Promise.resolve(DONE)
  }

  throw(): Promise<IteratorResult<Answer, undefined>> {
    return this.return()
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async #pull(): Promise<IteratorResult<Answer, undefined>> {
    const event = await this.#source.next()
    if (event.done === true || this.#closed) return DONE
    return { done: false, value: await this.#answer(event.value) }
  }

  #settle(step: IteratorResult<Answer, undefined>): void {
    const waiting = this.#waiting
    // Closed meanwhile: whoever waited has had its answer.
    if (waiting === null) return
    this.#waiting = null
    if (step.done === true) this.#close()
    waiting.resolve(step)
  }

  #close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#waiting = null
    // A source that cannot be let go is its own fault; the client is gone either way.
    void Promise.resolve(this.#source.return?.()).catch(() => {})
    this.#onClose()
  }
}
