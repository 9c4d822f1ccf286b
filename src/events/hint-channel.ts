import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import { systemTimers, type Timers } from './timers.ts'

/**
 * Carries hints between processes over LISTEN and NOTIFY, where configuration allows it: not behind a pooler in
 * transaction mode, which cannot listen. Whoever listens also polls: a lost notice costs an idle wait, never anything
 * else.
 */
export class HintChannel {
  readonly #pool: pg.Pool
  readonly #channel: string
  readonly #timers: Timers
  /** Tells its own notices from those of others: what this process has committed it knows already. */
  readonly #sender = randomUUID()
  #listening: { readonly onHint: () => void; client: pg.PoolClient | null; stopRetry: () => void } | null = null
  #announcing = false
  #again = false

  /** `channel` is the name of all who hint about the same thing, in lower case: it goes into the SQL as it is. */
  constructor(pool: pg.Pool, channel: string, timers: Timers = systemTimers) {
    this.#pool = pool
    this.#channel = channel
    this.#timers = timers
  }

  /**
   * Says that this process has committed something. In a transaction of its own, after the commit: NOTIFY inside the
   * transaction that writes made that four times as slow. Many calls at once become one notice.
   */
  announce(): void {
    if (this.#announcing) {
      this.#again = true
      return
    }
    this.#announcing = true
    // A notice that fails is not repeated: whoever misses it polls.
    void this.#pool
      .query(`select pg_notify('${this.#channel}', '${this.#sender}')`)
      .catch(() => {})
      .then(() => this.#timers.after(SPACING_MS, () => this.#announced()))
  }

  /** Calls back for every notice of another channel object. Holds one connection of the pool until `stop`, and gets another when it breaks. */
  async listen(onHint: () => void): Promise<void> {
    if (this.#listening !== null) return
    this.#listening = { onHint, client: null, stopRetry: () => {} }
    await this.#connect()
  }

  stop(): void {
    this.#listening?.stopRetry()
    this.#listening?.client?.release(true)
    this.#listening = null
  }

  #announced(): void {
    const again = this.#again
    this.#announcing = this.#again = false
    if (again) this.announce()
  }

  async #connect(): Promise<void> {
    const listening = this.#listening
    if (listening === null) return
    try {
      const client = await this.#pool.connect()
      if (this.#listening !== listening) return client.release(true)
      listening.client = client
      client.on('notification', ({ payload }) => {
        if (payload !== this.#sender) listening.onHint()
      })
      client.once('error', () => this.#lost(client))
      await client.query(`listen ${this.#channel}`)
      // What was announced while nobody listened.
      listening.onHint()
    } catch {
      if (listening.client !== null) this.#lost(listening.client)
      else this.#retry()
    }
  }

  #lost(client: pg.PoolClient): void {
    if (this.#listening?.client !== client) return
    this.#listening.client = null
    client.release(true)
    this.#retry()
  }

  #retry(): void {
    if (this.#listening === null) return
    this.#listening.stopRetry = this.#timers.after(RETRY_MS, () => void this.#connect())
  }
}

const SPACING_MS = 20
const RETRY_MS = 1_000
