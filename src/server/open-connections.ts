import type { Queryable } from '../database/index.ts'
import { revokedAmong } from '../viewer/index.ts'
import { identityOf, type Caller } from './callers.ts'
import type { Logger } from './log.ts'
import type { Metrics } from './metrics.ts'

/** Why the server ends what a client would have kept open. */
export type EndReason = 'TOKEN_EXPIRED' | 'REVOKED' | 'STOPPING' | 'STALLED'

export type Transport = 'websocket' | 'sse'

export interface OpenConnection {
  readonly caller: Caller
  readonly transport: Transport
  /** Ends it at once; called at most once. */
  readonly end: (reason: EndReason) => void
}

/** Removes the connection from the list and its timer; harmless when called again. */
export type Closed = () => void

// A longer wait overflows a timer and fires at once.
const LONGEST_TIMER_MS = 2 ** 31 - 1

/**
 * Whatever stays open for somebody: WebSockets and event streams. Each ends when its token does, when its
 * membership is revoked, and when the server stops; one place for the three, so no transport can forget one.
 */
export class OpenConnections {
  readonly #open = new Set<OpenConnection>()
  readonly #perSubject = new Map<string, number>()
  readonly #metrics: Metrics
  readonly #limits: { readonly perSubject: number; readonly inAll: number }
  #stopping = false

  constructor(metrics: Metrics, limits: { readonly perSubject: number; readonly inAll: number }) {
    this.#metrics = metrics
    this.#limits = limits
  }

  get size(): number {
    return this.#open.size
  }

  /** Whether there is room for one more, and for one more of this caller. */
  admits(caller: Caller): boolean {
    return this.#open.size < this.#limits.inAll && this.#countOf(caller) < this.#limits.perSubject
  }

  add(connection: OpenConnection): Closed {
    const { caller, transport } = connection
    this.#open.add(connection)
    this.#perSubject.set(keyOf(caller), this.#countOf(caller) + 1)
    this.#metrics.connections.inc({ transport })
    const expiry = this.#atExpiry(connection)
    // It came in before the stop and is open only now.
    if (this.#stopping) queueMicrotask(() => this.#end(connection, 'STOPPING'))
    return () => {
      clearTimeout(expiry)
      if (!this.#open.delete(connection)) return
      this.#metrics.connections.dec({ transport })
      const left = this.#countOf(caller) - 1
      if (left === 0) this.#perSubject.delete(keyOf(caller))
      else this.#perSubject.set(keyOf(caller), left)
    }
  }

  /** Ends everything, for a stop of the server. */
  endAll(): void {
    this.#stopping = true
    for (const connection of [...this.#open]) this.#end(connection, 'STOPPING')
  }

  /** Ends the connections whose membership has been revoked since they were opened. */
  async endRevoked(database: Queryable): Promise<void> {
    const holders = new Map<string, { tenantId: string; subject: string; issuedAt: Date }>()
    for (const { caller } of this.#open) {
      if (caller.viewer === null) continue
      const { tenantId, subject, tokenIssuedAt } = caller.viewer
      holders.set(`${tenantId} ${subject} ${tokenIssuedAt.getTime()}`, { tenantId, subject, issuedAt: tokenIssuedAt })
    }
    for (const revoked of await revokedAmong(database, [...holders.values()])) {
      for (const connection of [...this.#open]) {
        const viewer = connection.caller.viewer
        if (viewer?.tenantId !== revoked.tenantId || viewer.subject !== revoked.subject) continue
        if (viewer.tokenIssuedAt <= revoked.revokedAt) this.#end(connection, 'REVOKED')
      }
    }
  }

  /** Looks for revocations every so often until stopped; a look that fails is logged and the next one tries again. */
  watchRevocations(database: Queryable, everyMs: number, log: Logger): () => void {
    const timer = setInterval(() => {
      this.endRevoked(database).catch((error: unknown) => log.warn({ err: error }, 'cannot look for revocations'))
    }, everyMs)
    timer.unref()
    return () => clearInterval(timer)
  }

  #countOf(caller: Caller): number {
    return this.#perSubject.get(keyOf(caller)) ?? 0
  }

  #atExpiry(connection: OpenConnection): NodeJS.Timeout | undefined {
    const identity = identityOf(connection.caller)
    if (identity === null) return undefined
    const left = identity.tokenExpiresAt.getTime() - Date.now()
    const timer = setTimeout(
      () => this.#end(connection, 'TOKEN_EXPIRED'),
      Math.min(Math.max(left, 0), LONGEST_TIMER_MS),
    )
    timer.unref()
    return timer
  }

  #end(connection: OpenConnection, reason: EndReason): void {
    if (!this.#open.has(connection)) return
    this.#metrics.streamsEnded.inc({ reason })
    connection.end(reason)
  }
}

function keyOf(caller: Caller): string {
  return `${caller.viewer?.tenantId ?? ''} ${identityOf(caller)?.subject ?? ''}`
}
