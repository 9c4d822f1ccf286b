import pg from 'pg'
import { requireSession, SESSION_OPTIONS } from './session.ts'
import type { Queryable, SqlValue, Statement } from './statement.ts'

export interface PoolOptions {
  readonly url: string
  /** Most connections this pool opens. */
  readonly max: number
  /** Shown in `pg_stat_activity`, so that whoever holds the watermark can be named. */
  readonly applicationName: string
  /** False behind a pooler in transaction mode: no prepared names, no start-up options. */
  readonly preparedStatements: boolean
  /** Called for an idle connection that broke; the pool replaces it by itself. */
  readonly onConnectionLost?: (error: Error) => void
}

/** A `pg` pool whose sessions are in UTC with time-outs, and whose errors never end the process. */
export function makePool(options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.max,
    application_name: options.applicationName,
    keepAlive: true,
    connectionTimeoutMillis: LONGEST_WAIT_FOR_CONNECTION_MS,
    // The pool waits for the promise; its type does not say so.
    onConnect: requireSession as (client: pg.ClientBase) => void,
    ...(options.preparedStatements ? { options: SESSION_OPTIONS } : {}),
  })
  const lost = options.onConnectionLost ?? (() => {})
  pool.on('error', lost)
  // A connection that breaks while it is lent reports here too; whoever has it gets the error by its query.
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}

// A pool that is exhausted for so long is a fault to be seen, not a queue to stand in.
const LONGEST_WAIT_FOR_CONNECTION_MS = 15_000

/** Lets a pool or a single `pg` client run statements. */
export function queryable(client: pg.Pool | pg.ClientBase, preparedStatements: boolean): Queryable {
  return {
    async run<Row>(statement: Statement<Row>, values: readonly SqlValue[]): Promise<Row[]> {
      const named = preparedStatements ? { name: statement.name } : {}
      const result = await client.query({ ...named, text: statement.text, values: values as unknown[] })
      return result.rows as Row[]
    },
  }
}
