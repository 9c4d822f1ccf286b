import type { Prisma } from './generated/prisma/client.ts'
import type { PrismaOnPool } from './prisma.ts'
import { isSerializationConflict } from './sql-state.ts'
import type { Queryable, SqlValue, Statement } from './statement.ts'
import { statement } from './statement.ts'
import { boundToTenant, type TenantPrisma } from './tenant-client.ts'

/** A transaction that sees every tenant: for the engine and for operators. */
export interface SystemTx extends Queryable {
  readonly prisma: Prisma.TransactionClient
}

/** A transaction of one tenant. Whatever is written through it belongs to that tenant. */
export interface Tx extends Queryable {
  readonly tenantId: string
  readonly prisma: TenantPrisma
  /** Runs raw SQL whose `$1` is the tenant; `values` start at `$2`. The only raw SQL a domain uses. */
  query<Row>(statement: Statement<Row>, values: readonly SqlValue[]): Promise<Row[]>
}

export interface TransactionOptions {
  /** Longest wait for a lock, in milliseconds. Default: the session's. */
  readonly lockTimeoutMs?: number
  /** Abandon the transaction after so many milliseconds. Default 15,000. */
  readonly timeoutMs?: number
  readonly isolation?: 'ReadCommitted' | 'RepeatableRead'
}

/**
 * Runs `body` in one transaction of the tenant and commits. On a deadlock or serialization conflict the body
 * runs again, at most three times in all: so it must have no effect outside the database. Ends with the
 * deferred constraints checked inside the body's reach, since an error at COMMIT arrives without its details.
 */
export async function inTransaction<T>(
  { client: prisma, connections }: PrismaOnPool,
  tenantId: string,
  body: (tx: Tx) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> {
  const bound = boundToTenant(prisma, tenantId)
  return runAgain(() =>
    bound.$transaction(async (client) => {
      const tx = client as unknown as TenantPrisma
      const run = runOn(connections, client as unknown as Prisma.TransactionClient)
      return whole(run, options, () =>
        body({ tenantId, prisma: tx, run, query: (sql, values) => run(sql, [tenantId, ...values]) }),
      )
    }, limits(options)),
  )
}

/** As `inTransaction`, over all tenants. */
export async function inSystemTransaction<T>(
  { client: prisma, connections }: PrismaOnPool,
  body: (tx: SystemTx) => Promise<T>,
  options: TransactionOptions = {},
): Promise<T> {
  return runAgain(() =>
    prisma.$transaction(async (client) => {
      const run = runOn(connections, client)
      return whole(run, options, () => body({ prisma: client, run }))
    }, limits(options)),
  )
}

export const SET_LOCK_TIMEOUT = statement<unknown>('tx.lock_timeout', `select set_config('lock_timeout', $1, true)`)
const CHECK_CONSTRAINTS = 'set constraints all immediate'

type Run = Queryable['run']

function runOn(connections: PrismaOnPool['connections'], client: Prisma.TransactionClient): Run {
  let connection: Promise<Queryable> | null = null
  return async (sql, values) => (await (connection ??= connections.of(client))).run(sql, values)
}

async function whole<T>(run: Run, options: TransactionOptions, body: () => Promise<T>): Promise<T> {
  if (options.lockTimeoutMs !== undefined) await run(SET_LOCK_TIMEOUT, [`${options.lockTimeoutMs}ms`])
  const result = await body()
  // Also the proof that no error was swallowed: in an aborted transaction this statement fails, while
  // COMMIT would quietly roll back and report success.
  await run({ name: 'tx.check', text: CHECK_CONSTRAINTS }, [])
  return result
}

const limits = (options: TransactionOptions) => ({
  timeout: options.timeoutMs ?? 15_000,
  maxWait: 5_000,
  ...(options.isolation === undefined ? {} : { isolationLevel: options.isolation }),
})

const MOST_RUNS = 3

/** Runs a transaction again on a deadlock or serialization conflict, at most three times in all. */
export async function runAgain<T>(attempt: () => Promise<T>): Promise<T> {
  for (let run = 1; ; run++) {
    try {
      return await attempt()
    } catch (error) {
      if (run === MOST_RUNS || !isSerializationConflict(error)) throw error
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 20 * run))
    }
  }
}
