import { PrismaPg } from '@prisma/adapter-pg'
import type pg from 'pg'
import { PrismaClient } from './generated/prisma/client.ts'
import { StatementNames } from './statement-names.ts'
import { TransactionConnections } from './transaction-connection.ts'

/** Prisma, and the connections of the transactions that it opens. */
export interface PrismaOnPool {
  readonly client: PrismaClient
  readonly connections: TransactionConnections
}

/** Prisma on a pool that others use too. */
export function makePrisma(pool: pg.Pool, preparedStatements: boolean): PrismaOnPool {
  const names = new StatementNames()
  const connections = new TransactionConnections(preparedStatements)
  // Named statements make a job settled in a Prisma transaction a quarter faster (1.4k → 1.75k per second).
  const naming = preparedStatements ? { statementNameGenerator: (query: { sql: string }) => names.of(query.sql) } : {}
  const adapter = connections.watched(new PrismaPg(pool, { disposeExternalPool: false, ...naming }))
  return { client: new PrismaClient({ adapter }), connections }
}
