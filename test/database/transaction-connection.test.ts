import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { Database, sqlState, statement, type SystemTx, type Tx } from '../../src/database/index.ts'
import { useDatabase } from '../harness/database.ts'

const db = useDatabase()
const tenant = randomUUID()

beforeAll(async () => {
  await db.pool.query('create table note (id int primary key, text text)')
})

const process = statement<{ pid: number }>('test.process', 'select pg_backend_pid() as pid')
const write = statement<unknown>('test.write', 'insert into note values ($1, $2)')
const read = statement<{ text: string }>('test.read_note', 'select text from note where id = $1')

const notes = async () => (await db.pool.query('select id from note order by id')).rows.map(({ id }) => id as number)
const processOfPrisma = async ({ prisma }: SystemTx) =>
  (await prisma.$queryRawUnsafe<{ pid: number }[]>('select pg_backend_pid() as pid'))[0]!.pid
const processOfOurs = async ({ run }: Pick<Tx, 'run'>) => (await run(process, []))[0]!.pid

test('our statements and Prisma’s queries are on one connection, in every transaction at once', async () => {
  const pids = await Promise.all(
    Array.from({ length: 6 }, () =>
      db.database.systemTransaction(async (tx) => {
        const all = [await processOfOurs(tx), await processOfPrisma(tx), await processOfOurs(tx)]
        return new Set(all)
      }),
    ),
  )
  for (const ofOne of pids) expect(ofOne.size).toBe(1)
})

test('each sees what the other wrote before the commit, and both go back together', async () => {
  const failing = db.database.systemTransaction(async (tx) => {
    await tx.run(write, [1, 'ours'])
    await tx.prisma.$executeRawUnsafe(`insert into note values (2, 'Prisma’s')`)
    expect(await tx.run(read, [2])).toEqual([{ text: 'Prisma’s' }])
    expect(await tx.prisma.$queryRawUnsafe('select text from note where id = 1')).toEqual([{ text: 'ours' }])
    throw new Error('enough')
  })
  await expect(failing).rejects.toThrow('enough')
  expect(await notes()).toEqual([])
})

test('an error of ours has its code, and ends what Prisma did before it', async () => {
  const twice = db.database.systemTransaction(async (tx) => {
    await tx.prisma.$executeRawUnsafe(`insert into note values (3, 'first')`)
    await tx.run(write, [3, 'second'])
  })
  await expect(twice).rejects.toSatisfy((error) => sqlState(error) === '23505')
  expect(await notes()).toEqual([])
})

test('a statement that comes after the end is refused and reaches nobody else’s transaction', async () => {
  let late!: Pick<Tx, 'run'>
  await db.database.transaction(tenant, async (tx) => {
    late = tx
    await tx.run(read, [1])
  })
  await expect(late.run(write, [4, 'late'])).rejects.toThrow('The transaction is over')

  let never!: Pick<Tx, 'run'>
  await db.database.transaction(tenant, async (tx) => void (never = tx))
  await expect(never.run(write, [5, 'late'])).rejects.toThrow()
  expect(await notes()).toEqual([])
})

test('past its time-out nothing more is done in it, and its connection is good for others', async () => {
  const one = new Database({ url: db.url, max: 1, applicationName: 'one', preparedStatements: true })
  const endless = one.transaction(
    tenant,
    async (tx) => {
      await tx.run(write, [6, 'before'])
      for (;;) await tx.run(read, [6])
    },
    { timeoutMs: 100 },
  )
  await expect(endless).rejects.toThrow('The transaction is over')
  await one.transaction(tenant, (tx) => tx.run(write, [7, 'next']))
  expect(await notes()).toEqual([7])
  await one.close()
})

test('a connection that breaks between two statements ends the transaction, and the next has another', async () => {
  const broken = db.database.transaction(tenant, async (tx) => {
    await tx.run(write, [10, 'lost'])
    await db.pool.query('select pg_terminate_backend($1)', [await processOfOurs(tx)])
    await tx.run(write, [11, 'lost'])
  })
  await expect(broken).rejects.toThrow()
  await db.database.transaction(tenant, (tx) => tx.run(write, [12, 'kept']))
  expect((await notes()).filter((id) => id >= 10)).toEqual([12])
})
