import {
  OrgModelEventsDocument,
  type RegieClient,
  type ResolutionChangedFieldsFragment,
} from '../../client/src/index.ts'

/** A change of a resolution's status, and when it reached us. */
export type Change = ResolutionChangedFieldsFragment & { readonly cursor: string; readonly latencyMs: number }

/** What the stream said of anything, in order: enough to prove that nothing was missed and nothing came twice. */
export interface Seen {
  readonly subject: string
  readonly sequence: number
}

/**
 * The demo's own eye on the draft: a subscription over WebSocket that can be dropped and taken up again at its
 * last cursor.
 */
export class Watch {
  readonly seen: Seen[] = []
  readonly latest = new Map<string, Change>()
  readonly #client: RegieClient
  readonly #onChange: (change: Change, live: boolean) => void
  readonly #waiters = new Set<() => void>()
  #cursor: string
  #live = false
  #connection: { readonly abort: AbortController; readonly ended: Promise<void> } | null = null
  #failure: Error | null = null

  constructor(client: RegieClient, cursor: string, onChange: (change: Change, live: boolean) => void) {
    this.#client = client
    this.#cursor = cursor
    this.#onChange = onChange
  }

  /** Subscribes from the last cursor and waits until the stream says that it has caught up. */
  async open(): Promise<void> {
    const abort = new AbortController()
    this.#live = false
    this.#connection = { abort, ended: this.#follow(abort.signal) }
    await this.until(() => this.#live, 'the stream to catch up')
  }

  /** Drops the connection; what happens from now on is told after the next `open`. */
  async drop(): Promise<void> {
    this.#connection?.abort.abort()
    await this.#connection?.ended
    this.#connection = null
  }

  /** Waits until the condition holds; looked at whenever something arrives. */
  async until(condition: () => boolean, what: string, timeoutMs = 60_000): Promise<void> {
    const end = performance.now() + timeoutMs
    for (;;) {
      if (this.#failure !== null) throw this.#failure
      if (condition()) return
      const left = end - performance.now()
      if (left <= 0) throw new Error(`Waited ${timeoutMs / 1000} s in vain for ${what}.`)
      await this.#nextArrival(left)
    }
  }

  #nextArrival(longestMs: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        this.#waiters.delete(done)
        resolve()
      }
      const timer = setTimeout(done, longestMs)
      this.#waiters.add(done)
    })
  }

  async #follow(signal: AbortSignal): Promise<void> {
    try {
      const stream = this.#client.subscribe(OrgModelEventsDocument, { after: this.#cursor }, { signal })
      for await (const item of stream) {
        this.#cursor = item.cursor
        if (item.__typename === 'StreamCaughtUp') this.#live = true
        if (item.__typename === 'OrgModelResolutionChanged' || item.__typename === 'OrgModelVersionChanged')
          this.seen.push({ subject: item.subjectUuid, sequence: item.sequence })
        if (item.__typename === 'OrgModelResolutionChanged') {
          const change = { ...item, latencyMs: Date.now() - new Date(item.recordedAt).getTime() }
          if (item.issueKey !== null) this.latest.set(item.issueKey, change)
          this.#onChange(change, this.#live)
        }
        this.#arrived()
      }
    } catch (error) {
      if (!signal.aborted) this.#failure = error instanceof Error ? error : new Error(String(error))
    } finally {
      this.#arrived()
    }
  }

  #arrived(): void {
    for (const waiter of this.#waiters) waiter()
  }
}

/** Everything the log holds from a cursor until now, read once over server-sent events: the other transport. */
export async function replay(client: RegieClient, cursor: string): Promise<Seen[]> {
  const seen: Seen[] = []
  const stream = client.subscribe(OrgModelEventsDocument, { after: cursor }, { transport: 'sse' })
  for await (const item of stream) {
    if (item.__typename === 'StreamCaughtUp') return seen
    if (item.__typename === 'OrgModelResolutionChanged' || item.__typename === 'OrgModelVersionChanged')
      seen.push({ subject: item.subjectUuid, sequence: item.sequence })
  }
  throw new Error('The stream ended before it had caught up.')
}
