import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { currentBookmark, readEvents, type Bookmark } from '../../src/events/index.ts'
import { close, open, type TestDatabase } from '../harness/database.ts'
import { useServer } from '../harness/server.ts'
import { numbers, TENANT, write } from './events.ts'
import { startStandby, type Standby } from './standby.ts'

const own = useServer()
let standby: Standby
let replica: TestDatabase

beforeAll(async () => {
  standby = await startStandby(own)
  replica = open(standby.url)
  await vi.waitFor(
    async () => {
      const { rows } = await replica.pool.query('select pg_is_in_recovery() as standby')
      expect(rows).toEqual([{ standby: true }])
    },
    { timeout: 20_000 },
  )
})
afterAll(async () => {
  await close(replica)
  await standby.remove()
})

const page = (after: Bookmark | null, limit = 100) => readEvents(replica.database, { tenantId: TENANT, after, limit })

test('§6 (2) a place taken on a standby passes nothing over that was still open on the primary', async () => {
  const client = await own.pool.connect()
  await client.query('begin')
  await write(client, { data: { n: 'open' } })
  await write(own.pool, { data: { n: 'committed' } })
  const seesCommitted = async () => (await replica.pool.query('select count(*)::int as n from event')).rows[0].n
  await expect.poll(seesCommitted).toBe(1)
  // The pitfall itself: here the list of open transactions is empty, and the open one counts as visible.
  const { rows } = await replica.pool.query(
    `select pg_visible_in_snapshot($1::text::xid8, pg_current_snapshot()) as visible`,
    [(await client.query('select pg_current_xact_id()::text as xid')).rows[0].xid],
  )
  expect(rows).toEqual([{ visible: true }])
  const bookmark = await currentBookmark(replica.database)
  expect((await page(bookmark)).events).toEqual([])
  await client.query('commit')
  client.release()
  await expect.poll(async () => numbers((await page(bookmark)).events)).toEqual(['open', 'committed'])
})

test('§6 (2) read on a standby, sixteen writers lose nothing either', async () => {
  let after: Bookmark | null = (await page(null)).end
  const found: string[] = []
  let total = Infinity
  const reading = (async () => {
    while (found.length < total) {
      const { events, end }: Awaited<ReturnType<typeof page>> = await page(after, 7)
      found.push(...events.map((event) => String(event.position.id)))
      after = end
    }
  })()
  const last = (await own.pool.query('select max(id)::text as id from event')).rows[0].id
  await Promise.all(
    Array.from({ length: 16 }, async (_, writer) => {
      const client = await own.pool.connect()
      for (let n = 0; n < 20; n++) {
        await client.query('begin')
        await write(client, { data: { writer, n } })
        // The load itself: lower ids stay open while higher ones commit.
        if ((writer + n) % 3 === 0) await client.query('select pg_sleep($1)', [((writer * 7 + n) % 20) / 1000])
        await client.query((writer + n) % 20 === 0 ? 'rollback' : 'commit')
      }
      client.release()
    }),
  )
  const { rows } = await own.pool.query(
    'select e.id::text from event e where e.id > $1 order by e.epoch, e.xid, e.id',
    [last],
  )
  total = rows.length
  await reading
  expect(found).toEqual(rows.map((row) => row.id))
})
