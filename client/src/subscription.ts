import type { Answer } from './connection.ts'
import { RegieError } from './errors.ts'
import type { RequestBody } from './operation.ts'
import type { Transport } from './transport.ts'

/** How long to wait before connecting again: twice as long each time, up to the longest, with half of it random. */
const FIRST_WAIT_MS = 100
const LONGEST_WAIT_MS = 10_000
/** A token that was refused so often in a row will not be accepted any more. */
const MOST_REFUSALS = 3
/** So many items may wait for the reader; then the connection is let go and taken up again once half are read. */
const MOST_AHEAD = 10_000

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
  readonly #stops: readonly AbortSignal[]
  readonly #abort = () => this.#end(null)
  /** Of the last item received, where the next connection goes on, and of the last that `next` gave out. */
  #received: string | null = null
  #cursor: string | null = null
  #onRead: () => void = () => {}
  #items: Item[] = []
  #waiting: { resolve: (result: IteratorResult<Item, undefined>) => void; reject: (error: unknown) => void }[] = []
  #ended = false
  #error: unknown = null

  /** Ends with `disposed` as with the caller's own signal. */
  constructor(transport: Transport, body: RequestBody, options: SubscriptionOptions, disposed: AbortSignal) {
    this.#transport = transport
    this.#body = body
    this.#options = options
    this.#stops = options.signal === undefined ? [disposed] : [disposed, options.signal]
    if (this.#stops.some(({ aborted }) => aborted)) this.#end(null)
    else for (const stop of this.#stops) stop.addEventListener('abort', this.#abort, { once: true })
    // Not only a defect ends here: `onReconnect` is the caller's code.
    this.#run().catch((error: unknown) => this.#end(error))
  }

  /** The cursor of the last item that was given out: keep it to resume later with `after`. Null before the first. */
  get cursor(): string | null {
    return this.#cursor
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<Item, undefined>> {
    if (this.#items.length > 0) {
      const result = this.#give(this.#items.shift()!)
      this.#onRead()
      return Promise.resolve(result)
    }
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
    // Not when a connection is accepted: a server that accepts and then refuses each time would be asked without a pause.
    const onItem = () => {
      failures = refusals = 0
    }
    while (!this.#ended) {
      const reason = await this.#connection(onItem)
      if (this.#ended) return
      if (reason !== null) {
        if (reason.code === 'UNAUTHENTICATED') refusals++
        const mayPass = reason.code === 'UNAUTHENTICATED' ? refusals < MOST_REFUSALS : reason.retryable
        if (!mayPass || reason.code === 'SLOW_CONSUMER') return this.#end(reason)
      }
      if (this.#full) await this.#halfRead()
      else await pause(FIRST_WAIT_MS * 2 ** Math.min(failures++, 10), this.#stop.signal)
      if (!this.#ended) this.#options.onReconnect?.(reason, this.#received)
    }
  }

  /** Why the connection ended; null when the server completed the stream, as it does when it stops. */
  async #connection(onItem: () => void): Promise<RegieError | null> {
    const after = this.#received
    const variables = after === null ? this.#body.variables : { ...this.#body.variables, after }
    let refusal: RegieError | null = null
    const connection = new AbortController()
    const stop = () => connection.abort()
    this.#stop.signal.addEventListener('abort', stop, { once: true })
    const next = (answer: Answer) => {
      // What still comes after we let go comes again over the next connection.
      if (connection.signal.aborted) return
      refusal = this.#receive(answer)
      if (refusal === null) onItem()
      if (refusal !== null || this.#full) connection.abort()
    }
    try {
      await this.#transport.run(
        { ...this.#body, ...(variables === undefined ? {} : { variables }) },
        next,
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
    if (typeof cursor === 'string') this.#received = cursor
    const waiting = this.#waiting.shift()
    if (waiting === undefined) this.#items.push(item as Item)
    else waiting.resolve(this.#give(item as Item))
    return null
  }

  #give(item: Item): IteratorYieldResult<Item> {
    const { cursor } = item as { cursor?: unknown }
    if (typeof cursor === 'string') this.#cursor = cursor
    return { done: false, value: item }
  }

  get #full(): boolean {
    return this.#items.length >= MOST_AHEAD && this.#received !== null
  }

  async #halfRead(): Promise<void> {
    while (!this.#ended && this.#items.length > MOST_AHEAD / 2)
      await new Promise<void>((resolve) => (this.#onRead = resolve))
  }

  #end(error: unknown): void {
    if (this.#ended) return
    this.#ended = true
    for (const stop of this.#stops) stop.removeEventListener('abort', this.#abort)
    this.#stop.abort()
    this.#onRead()
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
    const over = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', over)
      resolve()
    }
    const timer = setTimeout(over, wait)
    signal.addEventListener('abort', over)
  })
}
