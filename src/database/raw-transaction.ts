import type pg from 'pg'
import { queryable } from './pool.ts'
import type { Queryable } from './statement.ts'
import { runAgain, SET_LOCK_TIMEOUT } from './transaction.ts'

/**
 * Runs `body` in one transaction on a connection of the pool, past Prisma: for the engine's own work, whose threads
 * are spared Prisma's memory as long as no handler needs it. Run again on a conflict, as any other transaction.
 */
export function inRawTransaction<T>(
  pool: pg.Pool,
  preparedStatements: boolean,
  body: (tx: Queryable) => Promise<T>,
  options: { readonly lockTimeoutMs?: number } = {},
): Promise<T> {
  return runAgain(async () => {
    const client = await pool.connect()
    const tx = queryable(client, preparedStatements)
    let unusable = false
    try {
      await client.query('begin')
      if (options.lockTimeoutMs !== undefined) await tx.run(SET_LOCK_TIMEOUT, [`${options.lockTimeoutMs}ms`])
      const result = await body(tx)
      // As in a Prisma transaction: deferred checks fail here, with their details, and a swallowed error does too.
      await client.query('set constraints all immediate')
      await client.query('commit')
      return result
    } catch (error) {
      // A connection that cannot even roll back is none to give to the next one.
      await client.query('rollback').catch(() => (unusable = true))
      throw error
    } finally {
      client.release(unusable)
    }
  })
}
