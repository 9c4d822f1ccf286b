import pg from 'pg'
import { expect, test } from 'vitest'
import { CursorCodec, EventFeed, readEvents, watermarkStatus } from '../../src/events/index.ts'
import { databaseAt } from '../harness/server-settings.ts'
import { useServer } from '../harness/server.ts'
import { numbers, TENANT, write } from './events.ts'

const own = useServer({ max_prepared_transactions: '2' })
const codec = new CursorCodec('a secret of some length')

const unread = async () =>
  numbers((await readEvents(own.database, { tenantId: TENANT, after: null, limit: 500 })).events)

/** Waits until nobody holds the watermark. */
const free = () => expect.poll(async () => (await watermarkStatus(own.database)).holder).toBeNull()

test('§6 (1) a writing transaction in another database of the server holds the log back, and is named', async () => {
  await own.pool.query('create database elsewhere')
  const client = new pg.Client({
    connectionString: databaseAt(own.url, 'elsewhere'),
    application_name: 'nightly import',
  })
  await client.connect()
  const { rows } = await client.query('select pg_backend_pid() as pid')
  await client.query('begin')
  await client.query('select pg_current_xact_id()')
  await write(own.pool, { data: { n: 'held back' } }, { data: { n: 'held back too' } })
  expect(await unread()).toEqual([])
  const status = await watermarkStatus(own.database)
  expect(status).toEqual({
    ageSeconds: expect.any(Number),
    heldBack: 2,
    holder: { pid: rows[0].pid, applicationName: 'nightly import', database: 'elsewhere' },
  })
  expect(status.ageSeconds).toBeGreaterThan(0)
  await client.query('rollback')
  expect(await unread()).toEqual(['held back', 'held back too'])
  await client.end()
  await free()
  expect(await watermarkStatus(own.database)).toEqual({ ageSeconds: 0, heldBack: 0, holder: null })
})

test('§6 (1) a transaction that only reads holds nothing back, one that locks a row does', async () => {
  await own.pool.query('create table row_to_lock (id int); insert into row_to_lock values (1)')
  const client = await own.pool.connect()
  await client.query('begin isolation level repeatable read')
  await client.query('select * from row_to_lock')
  const count = (await unread()).length
  await write(own.pool, { data: { n: 'at once' } })
  expect(await unread()).toHaveLength(count + 1)
  await client.query('commit')
  await client.query('begin')
  await client.query('select * from row_to_lock for update')
  await write(own.pool, { data: { n: 'later' } })
  expect(await unread()).toHaveLength(count + 1)
  await client.query('commit')
  client.release()
  expect(await unread()).toHaveLength(count + 2)
})

test('§6 (1) a prepared transaction holds the log back, and is named', async () => {
  const client = await own.pool.connect()
  await client.query('begin')
  await write(client, { data: { n: 'prepared' } })
  await client.query(`prepare transaction 'forgotten'`)
  expect((await watermarkStatus(own.database)).holder).toEqual({
    pid: null,
    applicationName: 'forgotten',
    database: 'postgres',
  })
  await client.query(`commit prepared 'forgotten'`)
  client.release()
  await free()
})

test.each(['restart', 'kill'])(
  'a live stream goes on after a %s of the database, without a gap or a double',
  async (how) => {
    const lines: string[] = []
    const feed = new EventFeed({
      database: own.database,
      codec,
      notify: true,
      logger: { warn: (_, message) => lines.push(message), info: (_, message) => lines.push(message) },
    })
    await feed.start()
    const stream = await feed.subscribe({ tenantId: TENANT })
    const got: unknown[] = []
    const reading = (async () => {
      for await (const item of stream) if (item.kind === 'event') got.push(item.event.data['n'])
    })()
    await write(own.pool, { data: { n: 1 } })
    await expect.poll(() => got).toEqual([1])

    if (how === 'restart') await own.stop()
    else await own.kill()
    await expect.poll(() => feed.failing).toBe(true)
    await own.start()
    await write(own.pool, { data: { n: 2 } })
    await expect.poll(() => got, { timeout: 10_000 }).toEqual([1, 2])
    expect(feed.failing).toBe(false)
    expect(lines).toHaveLength(2)
    await write(own.pool, { data: { n: 3 } })
    feed.hint()
    await expect.poll(() => got).toEqual([1, 2, 3])
    await feed.stop()
    await reading
    expect(feed.size).toBe(0)
  },
)
