import { PrismaPg } from '@prisma/adapter-pg'
import type pg from 'pg'
import { PrismaClient } from './generated/prisma/client.ts'
import { StatementNames } from './statement-names.ts'

/** Prisma on a pool that others use too. */
export function makePrisma(pool: pg.Pool, preparedStatements: boolean): PrismaClient {
  const names = new StatementNames()
  // Named statements make a job settled in a Prisma transaction a quarter faster (1.4k → 1.75k per second).
  const naming = preparedStatements ? { statementNameGenerator: (query: { sql: string }) => names.of(query.sql) } : {}
  return new PrismaClient({ adapter: new PrismaPg(pool, { disposeExternalPool: false, ...naming }) })
}
