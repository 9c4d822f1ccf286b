import type pg from 'pg'
import { makePool, queryable, type PoolOptions } from './pool.ts'
import type { PrismaClient } from './generated/prisma/client.ts'
import type { PrismaOnPool } from './prisma.ts'
import { inRawTransaction } from './raw-transaction.ts'
import type { Queryable, SqlValue, Statement } from './statement.ts'
import { boundToTenant, type TenantClient } from './tenant-client.ts'
import { inSystemTransaction, inTransaction, type SystemTx, type TransactionOptions, type Tx } from './transaction.ts'

/**
 * One process's (or worker thread's) way to the database: a pool that hot SQL uses directly, and Prisma on
 * the same pool. Prisma is loaded when first needed: it costs some 46 MB per thread.
 */
export class Database implements Queryable {
  readonly pool: pg.Pool
  readonly #queryable: Queryable
  readonly #preparedStatements: boolean
  #prisma: Promise<PrismaOnPool> | null = null

  constructor(options: PoolOptions) {
    this.pool = makePool(options)
    this.#preparedStatements = options.preparedStatements
    this.#queryable = queryable(this.pool, options.preparedStatements)
  }

  /** Runs one statement in a transaction of its own, past Prisma. */
  run<Row>(statement: Statement<Row>, values: readonly SqlValue[]): Promise<Row[]> {
    return this.#queryable.run(statement, values)
  }

  /** Whether anything has needed Prisma yet. */
  get prismaLoaded(): boolean {
    return this.#prisma !== null
  }

  /** The Prisma client over all tenants. For schema building and operators; else use `forTenant`. */
  async prisma(): Promise<PrismaClient> {
    return (await this.#onPool()).client
  }

  /** The Prisma client of one tenant, for reading outside a transaction. */
  async forTenant(tenantId: string): Promise<TenantClient> {
    return boundToTenant(await this.prisma(), tenantId)
  }

  async transaction<T>(tenantId: string, body: (tx: Tx) => Promise<T>, options?: TransactionOptions): Promise<T> {
    return inTransaction(await this.#onPool(), tenantId, body, options)
  }

  async systemTransaction<T>(body: (tx: SystemTx) => Promise<T>, options?: TransactionOptions): Promise<T> {
    return inSystemTransaction(await this.#onPool(), body, options)
  }

  /** One transaction past Prisma, for the engine's own work (raw-transaction.ts). */
  rawTransaction<T>(body: (tx: Queryable) => Promise<T>, options?: { readonly lockTimeoutMs?: number }): Promise<T> {
    return inRawTransaction(this.pool, this.#preparedStatements, body, options)
  }

  async close(): Promise<void> {
    if (this.#prisma !== null) await (await this.#prisma).client.$disconnect()
    if (!this.pool.ended) await this.pool.end()
  }

  #onPool(): Promise<PrismaOnPool> {
    this.#prisma ??= import('./prisma.ts').then(({ makePrisma }) => makePrisma(this.pool, this.#preparedStatements))
    return this.#prisma
  }
}
