import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { connect } from '../connect.ts'
import { StartupError } from '../startup-error.ts'
import { type Migration, migrationFiles } from './migration-files.ts'

export interface MigrationReport {
  /** Names of the migrations that this call applied, in order. */
  readonly applied: readonly string[]
  /** How many the database holds now. */
  readonly total: number
}

/**
 * Brings the database to the state this version of Regie needs. The history is the table that `prisma migrate`
 * keeps, row for row, so `prisma migrate deploy` may be used in its stead. Any number of processes may call
 * this at the same moment. Throws `StartupError` when a migration that was applied has been changed since, when
 * the database is newer than this code, and when a migration fails.
 */
export async function migrate(
  url: string,
  migrations: readonly Migration[] = migrationFiles(),
): Promise<MigrationReport> {
  const client = await connect(url, 'regie migrate')
  try {
    const applied: string[] = []
    for (;;) {
      const next = await underLock(client, () => applyNext(client, migrations))
      if (next === null) return { applied, total: migrations.length }
      if (next.inTransaction || (await applyAlone(url, client, next))) applied.push(next.name)
    }
  } finally {
    await client.end()
  }
}

/**
 * For a process that does not migrate by itself: throws `StartupError` unless the database is exactly in the
 * state this version of Regie needs.
 */
export async function requireMigrated(url: string, migrations: readonly Migration[] = migrationFiles()): Promise<void> {
  const client = await connect(url, 'regie migrate')
  try {
    const { rows } = await client.query<{ found: string | null }>(
      `select to_regclass('_prisma_migrations')::text as found`,
    )
    const history = rows[0]?.found ? await readHistory(client) : []
    const [pending] = pendingOf(migrations, history)
    if (pending === undefined) return
    throw new StartupError(
      'The database is older than this version of Regie.',
      `The migration ${pending.name} has not been applied.`,
      'Run: npm run migrate',
    )
  } finally {
    await client.end()
  }
}

interface HistoryRow {
  readonly name: string
  readonly checksum: string
  readonly finished: boolean
}

/** Applies the first pending migration; one that wants no transaction is only returned. Null: nothing is pending. */
async function applyNext(client: pg.Client, migrations: readonly Migration[]): Promise<Migration | null> {
  await client.query(HISTORY_TABLE)
  const [next] = pendingOf(migrations, await readHistory(client))
  if (next === undefined) return null
  if (!next.inTransaction) return next
  await apply(client, next)
  await client.query(
    `insert into _prisma_migrations (id, checksum, migration_name, started_at, finished_at, applied_steps_count)
     values ($1, $2, $3, now(), clock_timestamp(), 1)`,
    [randomUUID(), next.checksum, next.name],
  )
  return next
}

/**
 * Runs a migration outside any transaction, as `create index concurrently` wants it, while a second connection
 * holds the lock. Its history row is written before and finished after: a failure half-way stays visible. False
 * when another process was faster.
 */
async function applyAlone(url: string, holder: pg.Client, migration: Migration): Promise<boolean> {
  return underLock(holder, async () => {
    const known = await readHistory(holder)
    if (known.some(({ name }) => name === migration.name)) return false
    const client = await connect(url, 'regie migrate')
    try {
      const id = randomUUID()
      await client.query('set timezone = utc; set statement_timeout = 0; set lock_timeout = 0')
      await client.query('insert into _prisma_migrations (id, checksum, migration_name) values ($1, $2, $3)', [
        id,
        migration.checksum,
        migration.name,
      ])
      await apply(client, migration)
      await client.query(
        'update _prisma_migrations set finished_at = clock_timestamp(), applied_steps_count = 1 where id = $1',
        [id],
      )
      return true
    } finally {
      await client.end()
    }
  })
}

async function apply(client: pg.Client, migration: Migration): Promise<void> {
  try {
    await client.query(migration.sql)
  } catch (error) {
    const { message, position } = error as pg.DatabaseError
    const line = position === undefined ? '' : ` (line ${migration.sql.slice(0, Number(position)).split('\n').length})`
    throw new StartupError(
      `The migration ${migration.name} failed.`,
      `PostgreSQL says: ${message}${line}.`,
      migration.inTransaction
        ? 'Nothing of it was kept; correct the cause and start again.'
        : 'Undo by hand what it did, delete its row in _prisma_migrations, and start again.',
      { cause: error },
    )
  }
}

/** Checks the history against the files and returns what is still to be applied. */
function pendingOf(migrations: readonly Migration[], history: readonly HistoryRow[]): Migration[] {
  const files = new Map(migrations.map((migration) => [migration.name, migration]))
  for (const { name, checksum, finished } of history) {
    const file = files.get(name)
    if (file === undefined) {
      throw new StartupError(
        'The database is newer than this version of Regie.',
        `It holds the migration ${name}, which this version does not know.`,
        'Start the version that made it, or a newer one.',
      )
    }
    if (!finished) {
      throw new StartupError(
        `The migration ${name} has begun and was never finished.`,
        'It runs outside a transaction and was interrupted, or it is running at this moment elsewhere.',
        'When nothing runs it, undo by hand what it did, delete its row in _prisma_migrations, and start again.',
      )
    }
    if (file.checksum !== checksum) {
      throw new StartupError(
        `The migration ${name} is not the one that was applied.`,
        'Its file has been changed since.',
        'Restore the file and put the change into a migration of its own.',
      )
    }
  }
  const known = new Set(history.map(({ name }) => name))
  return migrations.filter(({ name }) => !known.has(name))
}

async function readHistory(client: pg.Client): Promise<HistoryRow[]> {
  const { rows } = await client.query<HistoryRow>(
    `select migration_name as name, checksum, finished_at is not null as finished
       from _prisma_migrations where rolled_back_at is null order by migration_name`,
  )
  return rows
}

/**
 * One transaction that holds the lock which `prisma migrate` takes too. A lock of the session would outlive its
 * holder behind a pooler in transaction mode. It is tried again and again rather than waited for: whoever waits
 * inside a statement keeps a snapshot, `create index concurrently` waits for all snapshots, and the two would wait
 * for each other for ever (tried).
 */
async function underLock<T>(client: pg.Client, body: () => Promise<T>): Promise<T> {
  for (;;) {
    await client.query('begin')
    try {
      await client.query(`set local timezone = utc; set local statement_timeout = 0; set local lock_timeout = 0;
        set local idle_in_transaction_session_timeout = 0`)
      const { rows } = await client.query<{ mine: boolean }>(
        `select pg_try_advisory_xact_lock(${PRISMA_MIGRATE_LOCK}) as mine`,
      )
      if (rows[0]?.mine === true) {
        const result = await body()
        await client.query('commit')
        return result
      }
      await client.query('rollback')
    } catch (error) {
      await client.query('rollback').catch(() => {})
      throw error
    }
    await pause(LOCK_RETRY_MS)
  }
}

const LOCK_RETRY_MS = 50
const PRISMA_MIGRATE_LOCK = 72_707_369

// Column for column what `prisma migrate` makes.
const HISTORY_TABLE = `create table if not exists _prisma_migrations (
  id varchar(36) primary key not null,
  checksum varchar(64) not null,
  finished_at timestamptz,
  migration_name varchar(255) not null,
  logs text,
  rolled_back_at timestamptz,
  started_at timestamptz not null default now(),
  applied_steps_count integer not null default 0
)`
