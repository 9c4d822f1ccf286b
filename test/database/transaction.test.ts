import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { isLockTimeout, sqlState, statement, type Tx } from '../../src/database/index.ts'
import { useDatabase } from '../harness/database.ts'

const db = useDatabase()
const tenant = randomUUID()

beforeAll(async () => {
  await db.pool.query(`
    create table account (id int primary key, amount int not null);
    insert into account select n, 0 from generate_series(1, 4) n;
    create table late (id int primary key, account int references account deferrable initially deferred);
    create table moment (id int primary key, at timestamptz not null)`)
})

const lock = statement<{ id: number }>('test.lock', 'select id from account where id = $1 for update')
const add = statement<unknown>('test.add', 'update account set amount = amount + 1 where id = $1')
const divide = statement<unknown>('test.divide', 'select 1 / 0')
const point = statement<unknown>('test.point', 'insert into late values ($1, $2)')
const amount = async (id: number) =>
  (await db.pool.query('select amount from account where id = $1', [id])).rows[0].amount as number

/** Resolves for everybody once `count` have come. */
function barrier(count: number): () => Promise<void> {
  let open!: () => void
  const opened = new Promise<void>((resolve) => (open = resolve))
  let waiting = 0
  return () => {
    if (++waiting === count) open()
    return opened
  }
}

test('an error that the body swallowed is not reported as success', async () => {
  const before = await amount(1)
  const swallow = async (tx: Pick<Tx, 'run'>) => {
    await tx.run(add, [1])
    await tx.run(divide, []).catch(() => {})
    return 'done'
  }
  await expect(db.database.transaction(tenant, swallow)).rejects.toSatisfy((error) => sqlState(error) === '25P02')
  await expect(db.database.systemTransaction(swallow)).rejects.toSatisfy((error) => sqlState(error) === '25P02')
  expect(await amount(1)).toBe(before)
})

test('a deferred constraint speaks inside the transaction, with its code', async () => {
  const broken = db.database.systemTransaction((tx) => tx.run(point, [1, 999]))
  await expect(broken).rejects.toSatisfy((error) => sqlState(error) === '23503')
})

test('two transactions in a deadlock both commit in the end', async () => {
  const [one, two] = [await amount(1), await amount(2)]
  const bothHoldOne = barrier(2)
  const runs = { count: 0 }
  const transfer = (first: number, second: number) =>
    db.database.transaction(tenant, async (tx) => {
      runs.count++
      await tx.run(lock, [first])
      // In the second run the other is gone already, and the barrier stays open.
      await bothHoldOne()
      await tx.run(add, [second])
      await tx.run(add, [first])
    })
  await Promise.all([transfer(1, 2), transfer(2, 1)])
  expect(runs.count).toBe(3)
  expect([await amount(1), await amount(2)]).toEqual([one + 2, two + 2])
})

test('a serialization conflict runs the body again and nothing is lost', async () => {
  const before = await amount(3)
  const allRead = barrier(2)
  const increment = () =>
    db.database.systemTransaction(
      async (tx) => {
        const [row] = await tx.run(
          statement<{ amount: number }>('test.read', 'select amount from account where id = 3'),
          [],
        )
        await allRead()
        await tx.run(statement('test.write', 'update account set amount = $1 where id = 3'), [(row?.amount ?? 0) + 1])
      },
      { isolation: 'RepeatableRead' },
    )
  await Promise.all([increment(), increment()])
  expect(await amount(3)).toBe(before + 2)
})

test('a conflict that stays is given up after three runs', async () => {
  const runs = { count: 0 }
  const conflict = statement<unknown>(
    'test.conflict',
    `do $$ begin raise exception 'conflict' using errcode = '40001'; end $$`,
  )
  const attempt = db.database.transaction(tenant, async (tx) => {
    runs.count++
    await tx.run(conflict, [])
  })
  await expect(attempt).rejects.toSatisfy((error) => sqlState(error) === '40001')
  expect(runs.count).toBe(3)
})

test('any other error ends the body at once', async () => {
  const runs = { count: 0 }
  const attempt = db.database.transaction(tenant, async (tx) => {
    runs.count++
    await tx.run(divide, [])
  })
  await expect(attempt).rejects.toSatisfy((error) => sqlState(error) === '22012')
  expect(runs.count).toBe(1)
})

test('a lock that is not given in time is told apart, and holds for this transaction only', async () => {
  const holder = await db.pool.connect()
  try {
    await holder.query('begin; select 1 from account where id = 4 for update')
    const waiting = db.database.transaction(tenant, (tx) => tx.run(lock, [4]), { lockTimeoutMs: 50 })
    await expect(waiting).rejects.toSatisfy(isLockTimeout)
    const { rows } = await db.database.pool.query('show lock_timeout')
    expect(rows).toEqual([{ lock_timeout: '10s' }])
  } finally {
    await holder.query('rollback')
    holder.release()
  }
})

test('the tenant is the first parameter of a query', async () => {
  const which = statement<{ tenant: string; more: string }>(
    'test.tenant',
    'select $1::uuid as tenant, $2::text as more',
  )
  const rows = await db.database.transaction(tenant, (tx) => tx.query(which, ['x']))
  expect(rows).toEqual([{ tenant, more: 'x' }])
})

test('a moment written by Prisma is the same moment in plain SQL', async () => {
  const at = new Date('2026-07-01T12:00:00.123Z')
  const write = statement<unknown>('test.moment', 'insert into moment values (1, $1)')
  await db.database.systemTransaction(async (tx) => {
    await tx.run(write, [at])
    await tx.prisma.tenant.create({ data: { id: tenant, name: 'of a moment', createdAt: at } })
  })
  const { rows } = await db.pool.query(
    `select to_char(at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS') as written,
            to_char(created_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS.MS') as created
       from moment, tenant where tenant.id = $1`,
    [tenant],
  )
  expect(rows).toEqual([{ written: '2026-07-01 12:00:00.123', created: '2026-07-01 12:00:00.123' }])
})
