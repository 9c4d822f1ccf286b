import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type pg from 'pg'
import { afterAll, beforeEach, expect, inject, test } from 'vitest'
import { migrate, type Migration, migrationFiles, requireMigrated } from '../../src/database/index.ts'
import { close, open, type TestDatabase, useDatabase } from '../harness/database.ts'
import { databaseAt } from '../harness/server-settings.ts'
import { oldServer } from './old-server.ts'

const db = useDatabase()
const folder = mkdtempSync(join(tmpdir(), 'regie-migrations-'))
afterAll(() => rmSync(folder, { recursive: true }))

let url: string
let empty: pg.Pool
let opened: TestDatabase
let databases = 0

beforeEach(async () => {
  const name = `${new URL(db.url).pathname.slice(1)}_${databases++}`
  await db.pool.query(`create database ${name}`)
  url = databaseAt(inject('serverUrl'), name)
  opened = open(url)
  empty = opened.pool
  return async () => {
    await close(opened)
    await db.pool.query(`drop database ${name} with (force)`)
  }
})

const migration = (name: string, sql: string): Migration => {
  const place = join(folder, 'one')
  rmSync(place, { recursive: true, force: true })
  mkdirSync(join(place, name), { recursive: true })
  writeFileSync(join(place, name, 'migration.sql'), sql)
  return migrationFiles(place)[0] as Migration
}
const history = async () =>
  (
    await empty.query(`select migration_name, checksum, finished_at is not null as finished, applied_steps_count,
      rolled_back_at, logs, length(id) as id_length from _prisma_migrations order by migration_name`)
  ).rows

test('the history is the one prisma migrate keeps', async () => {
  const first = migration('20260101000000_first', 'create table a (n int); create table b (n int);')
  expect(await migrate(url, [first])).toEqual({ applied: [first.name], total: 1 })
  expect(await migrate(url, [first])).toEqual({ applied: [], total: 1 })
  expect(await history()).toEqual([
    {
      migration_name: '20260101000000_first',
      checksum: createHash('sha256').update('create table a (n int); create table b (n int);').digest('hex'),
      finished: true,
      applied_steps_count: 1,
      rolled_back_at: null,
      logs: null,
      id_length: 36,
    },
  ])
  const { rows } = await empty.query(`select column_name, data_type from information_schema.columns
     where table_name = '_prisma_migrations' order by ordinal_position`)
  expect(rows.map((row) => `${row.column_name} ${row.data_type}`)).toEqual([
    'id character varying',
    'checksum character varying',
    'finished_at timestamp with time zone',
    'migration_name character varying',
    'logs text',
    'rolled_back_at timestamp with time zone',
    'started_at timestamp with time zone',
    'applied_steps_count integer',
  ])
})

test('eight simultaneous starts apply each migration once', async () => {
  const slow = Array.from({ length: 4 }, (_, n) =>
    migration(`2026010100000${n}_slow`, `create table slow_${n} (n int)`),
  )
  const reports = await Promise.all(Array.from({ length: 8 }, () => migrate(url, slow)))
  expect(reports.flatMap(({ applied }) => applied).sort()).toEqual(slow.map(({ name }) => name))
})

test('a migration that fails leaves nothing behind, says where, and can be corrected', async () => {
  const good = migration('20260101000000_good', 'create table good (n int)')
  const bad = migration('20260101000001_bad', 'create table half (n int);\nselect 1 from no_such_table;')
  await expect(migrate(url, [good, bad])).rejects.toThrow(
    'The migration 20260101000001_bad failed. PostgreSQL says: relation "no_such_table" does not exist (line 2). ' +
      'Nothing of it was kept; correct the cause and start again.',
  )
  expect((await empty.query(`select to_regclass('half') as half`)).rows).toEqual([{ half: null }])
  const corrected = migration('20260101000001_bad', 'create table half (n int)')
  expect((await migrate(url, [good, corrected])).applied).toEqual([corrected.name])
})

test('a function body with semicolons is one statement', async () => {
  const trigger = migration(
    '20260101000000_function',
    `create function f() returns int language plpgsql as $$ begin perform 1; return 2; end $$; create table t (n int);`,
  )
  await migrate(url, [trigger])
  expect((await empty.query('select f() as f')).rows).toEqual([{ f: 2 }])
})

test('a file changed after it was applied is refused', async () => {
  await migrate(url, [migration('20260101000000_first', 'create table a (n int)')])
  await expect(migrate(url, [migration('20260101000000_first', 'create table a (n bigint)')])).rejects.toThrow(
    'The migration 20260101000000_first is not the one that was applied.',
  )
})

test('a database newer than the code is refused, by whoever migrates and by whoever does not', async () => {
  const first = migration('20260101000000_first', 'create table a (n int)')
  await migrate(url, [first, migration('20260201000000_second', 'create table b (n int)')])
  const newer = 'The database is newer than this version of Regie. It holds the migration 20260201000000_second'
  await expect(migrate(url, [first])).rejects.toThrow(newer)
  await expect(requireMigrated(url, [first])).rejects.toThrow(newer)
})

test('a process that does not migrate waits for nobody and says what is missing', async () => {
  const first = migration('20260101000000_first', 'create table a (n int)')
  await expect(requireMigrated(url, [first])).rejects.toThrow(
    'The migration 20260101000000_first has not been applied.',
  )
  await migrate(url, [first])
  await expect(requireMigrated(url, [first])).resolves.toBeUndefined()
})

test('outside a transaction: an index is built concurrently, by one of several starts', async () => {
  const all = [
    migration('20260101000000_table', 'create table big (n int)'),
    migration('20260101000001_index', '-- no transaction\ncreate index concurrently big_n on big (n)'),
  ]
  const reports = await Promise.all([migrate(url, all), migrate(url, all), migrate(url, all)])
  expect(reports.every(({ total }) => total === 2)).toBe(true)
  expect((await history()).map(({ finished }) => finished)).toEqual([true, true])
})

test('outside a transaction: one that broke off half-way stays visible and blocks the next start', async () => {
  const all = [migration('20260101000000_half', '-- no transaction\ncreate index concurrently x on no_such_table (n)')]
  await expect(migrate(url, all)).rejects.toThrow('Undo by hand what it did')
  await expect(migrate(url, all)).rejects.toThrow('has begun and was never finished')
})

test.each([
  ['postgresql://regie@127.0.0.1:1/regie', 'Nothing listens there.'],
  ['postgresql://regie@no-such-host.invalid/regie', 'That host name is not known.'],
])('a database that cannot be reached: %s', async (address, why) => {
  await expect(migrate(address, [])).rejects.toMatchObject({ name: 'StartupError', why })
})

test('a database that is not there, or does not let us in', async () => {
  await expect(migrate(databaseAt(url, 'no_such_database'), [])).rejects.toMatchObject({
    name: 'StartupError',
    why: 'The server has no database of that name; make it with createdb.',
  })
  const stranger = new URL(url)
  stranger.password = 'not-the-password'
  await expect(migrate(stranger.href, [])).rejects.toMatchObject({ why: 'The user or the password is wrong.' })
})

test('a database that is too old', async () => {
  const { url: old, server } = await oldServer('14.13', 140_013)
  try {
    await expect(migrate(old, [])).rejects.toMatchObject({
      name: 'StartupError',
      what: 'This PostgreSQL is too old.',
      why: `${new URL(old).host}/regie runs version 14.13 and Regie needs 15 or newer.`,
    })
  } finally {
    server.close()
  }
})
