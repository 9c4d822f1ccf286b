import type { Answer } from './connection.ts'
import { RegieError } from './errors.ts'
import type { RequestBody } from './operation.ts'
import type { Transport } from './transport.ts'

/** How long to wait before connecting again: twice as long each time, up to the longest, with half of it random. */
const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 10_000
/** A token that was refused so often in a row will not be accepted any more. */
const MOST_REFUSALS = 3

export interface SubscriptionOptions {
  readonly signal?: AbortSignal
  /** Called before each new connection, with the reason and the cursor from which the stream goes on. */
  readonly onReconnect?: (reason: RegieError | null, after: string | null) => void
}

/**
 * A stream's items, over as many connections as it takes: when one breaks, or the server goes away, the next asks
 * for what comes after the last item that was received. It ends only by the caller, or with a RegieError that a new
 * connection does not cure: CURSOR_EXPIRED and SLOW_CONSUMER among them.
 */
export class Subscription<Item> implements AsyncIterableIterator<Item, undefined> {
  readonly #transport: Transport
  readonly #body: RequestBody
  readonly #options: SubscriptionOptions
  readonly #stop = new AbortController()
  readonly #abort = () => this.#end(null)
  #cursor: string | null = null
  #items: Item[] = []
  #waiting: { resolve: (result: IteratorResult<Item, undefined>) => void; reject: (error: unknown) => void }[] = []
  #ended = false
  #error: unknown = null

  constructor(transport: Transport, body: RequestBody, options: SubscriptionOptions) {
    this.#transport = transport
    this.#body = body
    this.#options = options
    const { signal } = options
    if (signal?.aborted === true) this.#end(null)
    else signal?.addEventListener('abort', this.#abort, { once: true })
    void this.#run()
  }

  /** The cursor of the last item received: keep it to resume later with `after`. Null before the first. */
  get cursor(): string | null {
    return this.#cursor
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<Item, undefined>> {
    if (this.#items.length > 0) return Promise.resolve({ done: false, value: this.#items.shift()! })
    if (!this.#ended) return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }))
    const error = this.#error
    this.#error = null
    return error === null ? Promise.resolve(DONE) : Promise.reject(error)
  }

  return(): Promise<IteratorResult<Item, undefined>> {
    this.#items = []
    this.#end(null)
    return Promise.resolve(DONE)
  }

  async #run(): Promise<void> {
    let failures = 0
    let refusals = 0
    while (!this.#ended) {
      const connected = () => {
        failures = refusals = 0
      }
      const reason = await this.#connection(connected)
      if (this.#ended) return
      if (reason !== null) {
        if (reason.code === 'UNAUTHENTICATED') refusals++
        const mayPass = reason.code === 'UNAUTHENTICATED' ? refusals < MOST_REFUSALS : reason.retryable
        if (!mayPass || reason.code === 'SLOW_CONSUMER') return this.#end(reason)
      }
      await pause(FIRST_WAIT_MS * 2 ** Math.min(failures++, 10), this.#stop.signal)
      if (!this.#ended) this.#options.onReconnect?.(reason, this.#cursor)
    }
  }

  /** Why the connection ended; null when the server completed the stream, as it does when it stops. */
  async #connection(connected: () => void): Promise<RegieError | null> {
    const variables = this.#cursor === null ? this.#body.variables : { ...this.#body.variables, after: this.#cursor }
    let refusal: RegieError | null = null
    const connection = new AbortController()
    const stop = () => connection.abort()
    this.#stop.signal.addEventListener('abort', stop, { once: true })
    const next = (answer: Answer) => {
      refusal ??= this.#receive(answer)
      if (refusal === null) connected()
      else connection.abort()
    }
    try {
      await this.#transport.run(
        { ...this.#body, ...(variables === undefined ? {} : { variables }) },
        { next, connected },
        connection.signal,
      )
      return refusal
    } catch (error) {
      if (error instanceof RegieError) return error
      this.#end(error)
      return null
    } finally {
      this.#stop.signal.removeEventListener('abort', stop)
    }
  }

  #receive({ data, errors }: Answer): RegieError | null {
    const item = data === null || data === undefined ? undefined : Object.values(data)[0]
    if (item === null || item === undefined) return new RegieError(errors ?? [])
    const cursor = (item as { cursor?: unknown }).cursor
    if (typeof cursor === 'string') this.#cursor = cursor
    const waiting = this.#waiting.shift()
    if (waiting === undefined) this.#items.push(item as Item)
    else waiting.resolve({ done: false, value: item as Item })
    return null
  }

  #end(error: unknown): void {
    if (this.#ended) return
    this.#ended = true
    this.#options.signal?.removeEventListener('abort', this.#abort)
    this.#stop.abort()
    const [first, ...others] = this.#waiting.splice(0)
    if (first === undefined) this.#error = error
    else if (error === null) first.resolve(DONE)
    else first.reject(error)
    for (const waiting of others) waiting.resolve(DONE)
  }
}

const DONE: IteratorReturnResult<undefined> = { done: true, value: undefined }

function pause(ms: number, signal: AbortSignal): Promise<void> {
  const wait = Math.min(ms, LONGEST_WAIT_MS) * (0.5 + Math.random() / 2)
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, wait)
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer)
        resolve()
      },
      { once: true },
    )
  })
}
