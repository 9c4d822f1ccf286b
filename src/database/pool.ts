import pg from 'pg'
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

/** A `pg` pool whose sessions are in UTC and whose errors never end the process. */
export function makePool(options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.max,
    application_name: options.applicationName,
    ...(options.preparedStatements ? { options: SESSION_OPTIONS } : {}),
  })
  const lost = options.onConnectionLost ?? (() => {})
  pool.on('error', lost)
  pool.on('connect', (client) => client.on('error', lost))
  return pool
}

// UTC because Prisma's adapter otherwise stores a wrong timestamptz; the time-outs because one forgotten
// transaction holds back the event watermark for everybody.
const SESSION_OPTIONS =
  '-c timezone=UTC -c statement_timeout=30s -c lock_timeout=10s -c idle_in_transaction_session_timeout=60s'

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
