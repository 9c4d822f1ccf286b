import type { Socket } from 'node:net'
import type pg from 'pg'
import {
  Database,
  type Queryable,
  type SqlValue,
  type Statement,
  type SystemTx,
  type TransactionOptions,
  type Tx,
} from '../../../src/database/index.ts'

/**
 * What becomes of one statement on its way to the database. KILL: the process is dead from here, before the statement
 * was sent or after it was carried out and before its answer came. CUT: the same for this one connection, while the
 * process lives on.
 */
export type Fate = 'PASS' | 'KILL_BEFORE' | 'KILL_AFTER' | 'CUT_BEFORE' | 'CUT_AFTER'

/** The nth time that a process sends the statement of this name. */
export interface Point {
  readonly name: string
  readonly nth: number
}

export interface WireOptions {
  readonly url: string
  /** Asked before each statement is sent; a promise holds the statement back. */
  readonly decide?: (point: Point) => Fate | Promise<Fate>
  /** Another text for a statement: a fault put into the engine on purpose. */
  readonly rewrite?: (name: string, text: string) => string
  readonly onAnswer?: (point: Point, rows: readonly Readonly<Record<string, unknown>>[]) => void
  /** How the process dies. By default all of its connections break at once, and nothing it sends arrives any more. */
  readonly die?: () => void
}

/**
 * A `Database` whose wire can be cut between any two statements, those of a transaction and its BEGIN, COMMIT and
 * ROLLBACK included. The hook sits on the connections themselves, so whatever road a statement takes (the pool, Prisma's raw
 * SQL, Prisma's own queries), it passes here.
 */
export class WiredDatabase extends Database {
  /** Every statement that was sent or meant to be, in order. */
  readonly points: Point[] = []
  /** Resolves when the process has died. */
  readonly death: Promise<void>
  readonly #options: WireOptions
  readonly #clients = new Set<pg.PoolClient>()
  readonly #names = new Map<string, string>()
  readonly #counts = new Map<string, number>()
  #dead = false
  #died: () => void = () => {}

  constructor(options: WireOptions) {
    super({ url: options.url, max: 6, applicationName: 'wired', preparedStatements: true })
    this.#options = options
    this.death = new Promise((resolve) => (this.#died = resolve))
    this.pool.on('connect', (client) => this.#tap(client))
    this.pool.on('remove', (client) => this.#clients.delete(client as pg.PoolClient))
  }

  get dead(): boolean {
    return this.#dead
  }

  kill(): void {
    if (this.#dead) return
    this.#dead = true
    if (this.#options.die !== undefined) this.#options.die()
    for (const client of this.#clients) breakOff(client)
    this.#died()
  }

  override async close(): Promise<void> {
    // Whoever is still in a transaction of a dead process will never give its connection back.
    if (!this.#dead) await super.close()
    else if (!this.pool.ended && !this.pool.ending) void this.pool.end().catch(() => {})
  }

  override transaction<T>(tenantId: string, body: (tx: Tx) => Promise<T>, options?: TransactionOptions): Promise<T> {
    return super.transaction(
      tenantId,
      (tx) => {
        const run = this.#named(tx)
        return body({ ...tx, run, query: (sql, values) => run(sql, [tenantId, ...values]) })
      },
      options,
    )
  }

  override systemTransaction<T>(body: (tx: SystemTx) => Promise<T>, options?: TransactionOptions): Promise<T> {
    return super.systemTransaction((tx) => body({ ...tx, run: this.#named(tx) }), options)
  }

  /** Prisma does not pass on a statement's name; so it is remembered by its text. */
  #named(on: Queryable): Queryable['run'] {
    return <Row>(statement: Statement<Row>, values: readonly SqlValue[]) => {
      this.#names.set(statement.text, statement.name)
      return on.run(statement, values)
    }
  }

  #tap(client: pg.PoolClient): void {
    this.#clients.add(client)
    if (this.#dead) return breakOff(client)
    const original = client.query.bind(client) as (config: unknown, values?: unknown) => Promise<pg.QueryResult>
    const tapped = (given: string | pg.QueryConfig, values?: unknown, callback?: Callback) => {
      const config = typeof given === 'string' ? { text: given } : given
      const answer = this.#pass(client, config, (rewritten) => original(rewritten, values))
      if (callback === undefined) return answer
      void answered(answer, callback)
      return undefined
    }
    client.query = tapped as typeof client.query
  }

  async #pass(
    client: pg.PoolClient,
    config: pg.QueryConfig,
    send: (config: pg.QueryConfig) => Promise<pg.QueryResult>,
  ): Promise<pg.QueryResult> {
    if (this.#dead) throw terminated()
    const point = this.#point(config)
    const fate = (await this.#options.decide?.(point)) ?? 'PASS'
    if (this.#dead) throw terminated()
    if (fate === 'KILL_BEFORE') this.kill()
    if (fate === 'CUT_BEFORE') await cutOff(client)
    if (fate === 'KILL_BEFORE' || fate === 'CUT_BEFORE') throw terminated()
    const result = await send(this.#rewritten(point.name, config))
    if (fate === 'KILL_AFTER') this.kill()
    if (fate === 'CUT_AFTER') await cutOff(client)
    if (this.#dead || fate === 'CUT_AFTER') throw terminated()
    this.#options.onAnswer?.(point, result.rows as Record<string, unknown>[])
    return result
  }

  #point({ name, text }: pg.QueryConfig): Point {
    // Prisma gives names too: `prisma_` and a number, or an empty one.
    const ours = name && !name.startsWith('prisma_') ? name : this.#names.get(text)
    const called = ours ?? (text.length < 40 ? text : `prisma: ${text.slice(0, 30)}`)
    const nth = (this.#counts.get(called) ?? 0) + 1
    this.#counts.set(called, nth)
    const point = { name: called, nth }
    this.points.push(point)
    return point
  }

  #rewritten(name: string, config: pg.QueryConfig): pg.QueryConfig {
    const text = this.#options.rewrite?.(name, config.text) ?? config.text
    return text === config.text ? config : { ...config, text, name: `${name} rewritten` }
  }
}

type Callback = (error: Error | undefined, result?: pg.QueryResult) => void

async function answered(answer: Promise<pg.QueryResult>, callback: Callback): Promise<void> {
  try {
    const result = await answer
    callback(undefined, result)
  } catch (error) {
    callback(error as Error)
  }
}

/** As `pg` says it of a connection that broke. */
const terminated = () => new Error('Connection terminated unexpectedly')

/** No farewell: the server finds the connection broken and rolls back what was open on it. */
function breakOff(client: pg.ClientBase): void {
  ;(client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
}

/** Until the driver knows, as when the network says so: before that, the pool would lend the connection out again. */
async function cutOff(client: pg.ClientBase): Promise<void> {
  const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
  // Two statements of one connection may meet the same fate.
  if (stream.closed) return
  const ended = new Promise((resolve) => client.once('end', () => resolve(null)))
  breakOff(client)
  await ended
}
