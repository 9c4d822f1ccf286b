import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { afterAll, beforeAll, inject } from 'vitest'
import { Database } from '../../src/database/index.ts'
import { databaseAt } from './server-settings.ts'

/** A database of one test file; usable inside hooks and tests. */
export interface TestDatabase {
  readonly url: string
  /** What Regie's own code takes. */
  readonly database: Database
  /** Plain `pg`, for arranging and for looking behind Regie's back. */
  readonly pool: pg.Pool
}

/** Gives the test file a database of its own with all migrations, cloned in 0.1 s and dropped after the file. */
export function useDatabase(): TestDatabase {
  const name = `regie_${process.pid}_${randomBytes(4).toString('hex')}`
  let opened: TestDatabase | null = null
  beforeAll(async () => {
    await onServer((admin) => admin.query(`create database ${name} template ${inject('template')} strategy wal_log`))
    opened = open(databaseAt(inject('serverUrl'), name))
  })
  afterAll(async () => {
    if (opened !== null) await close(opened)
    // A pool that a test left open must not fail the run.
    await onServer((admin) => admin.query(`drop database if exists ${name} with (force)`))
  })
  const now = () => {
    if (opened === null) throw new Error('The database of a test file is there inside its hooks and tests only.')
    return opened
  }
  return {
    get url() {
      return now().url
    },
    get database() {
      return now().database
    },
    get pool() {
      return now().pool
    },
  }
}

/** Opens the three ways into a database that exists. */
export function open(url: string): TestDatabase {
  const pool = new pg.Pool({ connectionString: url, max: 32, options: '-c timezone=UTC' })
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return {
    url,
    pool,
    database: new Database({ url, max: 16, applicationName: 'regie test', preparedStatements: true }),
  }
}

export async function close(opened: TestDatabase): Promise<void> {
  await opened.database.close()
  if (!opened.pool.ended) await opened.pool.end()
}

async function onServer(act: (admin: pg.Client) => Promise<unknown>): Promise<void> {
  const admin = new pg.Client({ connectionString: inject('serverUrl') })
  admin.on('error', () => {})
  await admin.connect()
  try {
    await act(admin)
  } finally {
    await admin.end()
  }
}
