import type { Database, SystemTx, TransactionOptions, Tx } from '../database/index.ts'

/** `nth` counts the transactions opened through the watched database, from 0; a body that runs again keeps it. */
export interface Watch {
  /** Runs first in a transaction; what it throws ends the transaction. */
  readonly atStart?: (tx: Tx, nth: number) => Promise<void>
  /** Runs after the transaction's own writes, before it commits. */
  readonly atEnd?: (tx: Tx, nth: number) => Promise<void>
  /** As `atEnd`, of a transaction over all tenants. */
  readonly atSystemEnd?: (tx: SystemTx) => Promise<void>
}

/**
 * The same database, but each of its transactions has something done at its start or end. It lets the
 * API take part in the transaction of a domain's function (an idempotency key, the place in the log) without the
 * domain knowing of it. When the body is run again after a conflict, so is what is done around it.
 */
export function watchedDatabase(database: Database, { atStart, atEnd, atSystemEnd }: Watch): Database {
  let opened = 0
  const transaction = <T>(tenantId: string, body: (tx: Tx) => Promise<T>, options?: TransactionOptions): Promise<T> => {
    const nth = opened++
    const watched = async (tx: Tx) => {
      await atStart?.(tx, nth)
      const result = await body(tx)
      await atEnd?.(tx, nth)
      return result
    }
    return database.transaction(tenantId, watched, options)
  }
  const systemTransaction = <T>(body: (tx: SystemTx) => Promise<T>, options?: TransactionOptions): Promise<T> =>
    database.systemTransaction(async (tx) => {
      const result = await body(tx)
      await atSystemEnd?.(tx)
      return result
    }, options)
  // A proxy and not a copy: the class keeps its pool in private fields, which only the original has.
  return new Proxy(database, {
    get(target, property) {
      if (property === 'transaction') return transaction
      if (property === 'systemTransaction') return systemTransaction
      const value: unknown = Reflect.get(target, property, target)
      return typeof value === 'function' ? (value as (...args: unknown[]) => unknown).bind(target) : value
    },
  })
}
