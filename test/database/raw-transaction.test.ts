import { beforeAll, expect, test } from 'vitest'
import { statement } from '../../src/database/index.ts'
import { useDatabase } from '../harness/database.ts'

const db = useDatabase()
beforeAll(() =>
  db.pool.query(`create table thing (id int primary key, of int references thing deferrable initially deferred);
    insert into thing values (1, null), (2, null)`),
)

const ADD = statement<never>('test.raw.add', 'insert into thing values ($1, $2)')
const LOCK = statement<{ id: number }>('test.raw.lock', 'select id from thing where id = $1 for update')
const DIE = statement<never>('test.raw.die', 'select pg_terminate_backend(pg_backend_pid())')
const TIMEOUT = statement<{ ms: string }>('test.raw.timeout', `select current_setting('lock_timeout') as ms`)

const things = async () =>
  (await db.pool.query('select id from thing where id >= 10 order by id')).rows.map(({ id }) => id)

test('all of it is written, or nothing when the body throws', async () => {
  expect(await db.database.rawTransaction(async (tx) => (await tx.run(ADD, [10, 1]), 'done'))).toBe('done')
  const failing = db.database.rawTransaction(async (tx) => {
    await tx.run(ADD, [11, 1])
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
  expect(await things()).toEqual([10])
  expect(db.database.prismaLoaded).toBe(false)
})

test('an error that the body swallowed is no success', async () => {
  const swallowing = db.database.rawTransaction(async (tx) => {
    await tx.run(ADD, [12, 1])
    await tx.run(ADD, [12, 1]).catch(() => {})
  })
  await expect(swallowing).rejects.toThrow('current transaction is aborted')
  expect(await things()).not.toContain(12)
})

test('a deferred constraint fails with its name', async () => {
  const dangling = db.database.rawTransaction((tx) => tx.run(ADD, [13, 999]))
  await expect(dangling).rejects.toMatchObject({ constraint: 'thing_of_fkey' })
})

test('two that deadlock both get there: the body of one runs again', async () => {
  let runs = 0
  const both = new Promise<void>((resolve) => {
    let there = 0
    meet = () => {
      if (++there === 2) resolve()
    }
  })
  const cross = (first: number, second: number) =>
    db.database.rawTransaction(async (tx) => {
      runs++
      await tx.run(LOCK, [first])
      meet()
      await both
      await tx.run(LOCK, [second])
    })
  await Promise.all([cross(1, 2), cross(2, 1)])
  expect(runs).toBe(3)
})
let meet: () => void = () => {}

test('the lock time-out is the transaction’s own, and a connection that broke is given to nobody', async () => {
  const usual = await db.database.run(TIMEOUT, [])
  const own = await db.database.rawTransaction((tx) => tx.run(TIMEOUT, []), { lockTimeoutMs: 123 })
  expect(own).toEqual([{ ms: '123ms' }])
  await expect(db.database.rawTransaction((tx) => tx.run(DIE, []))).rejects.toThrow()
  const after = await Promise.all(Array.from({ length: 16 }, () => db.database.run(TIMEOUT, [])))
  expect(after).toEqual(Array.from({ length: 16 }, () => usual))
})
