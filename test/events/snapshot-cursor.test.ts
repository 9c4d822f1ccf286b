import { beforeEach, expect, test } from 'vitest'
import { queryable, statement } from '../../src/database/index.ts'
import {
  appendEvents,
  CursorCodec,
  currentBookmark,
  currentCursor,
  EVENTS,
  readEvents,
  type Bookmark,
} from '../../src/events/index.ts'
import { useServer } from '../harness/server.ts'
import { anEvent, numbers, TENANT, write } from './events.ts'

const own = useServer()
const codec = new CursorCodec('a secret of some length')

/** Everything after a cursor, as a client would read it: a page at a time, through the cursor of the page before. */
async function readFrom(cursor: string, limit = 2): Promise<string[]> {
  const found: string[] = []
  for (;;) {
    const after = codec.decode(EVENTS, TENANT, cursor)
    const page = await readEvents(own.database, { tenantId: TENANT, after, limit })
    found.push(...numbers(page.events).map(String))
    cursor = codec.encode(EVENTS, TENANT, page.end)
    if (page.complete) return found
  }
}

async function begun(n: unknown) {
  const client = await own.pool.connect()
  await client.query('begin')
  await write(client, { data: { n } })
  return {
    client,
    async commit() {
      await client.query('commit')
      client.release()
    },
  }
}

beforeEach(() => write(own.pool, { data: { n: 'long ago' } }))

test('R32 the cursor of a mutation skips its own events and nothing of a transaction that was open with a lower id', async () => {
  const lower = await begun('open, lower')
  await write(own.pool, { data: { n: 'committed before' } })
  const higher: Awaited<ReturnType<typeof begun>>[] = []
  const cursor = await own.database.transaction(TENANT, async (tx) => {
    await appendEvents(tx, [anEvent({ data: { n: 'its own' } })])
    higher.push(await begun('open, higher'))
    const taken = await currentCursor(tx, TENANT, codec)
    await write(own.pool, { data: { n: 'committed during' } })
    return taken
  })
  await write(own.pool, { data: { n: 'committed after' } })
  await lower.commit()
  await higher[0]!.commit()
  expect((await readFrom(cursor)).toSorted()).toEqual(
    ['committed after', 'committed during', 'open, higher', 'open, lower'].toSorted(),
  )
})

test('R32 nor does it when a page ends in the middle of what it saw: its own transaction, or one before it', async () => {
  const many = (n: string) => Array.from({ length: 5 }, () => ({ data: { n } }))
  // Keeps what is committed above it behind the place from which the cursor is read.
  const lower = await begun('open, lower')
  await write(own.pool, ...many('committed before'))
  const cursor = await own.database.transaction(TENANT, async (tx) => {
    await appendEvents(tx, many('its own').map(anEvent))
    return currentCursor(tx, TENANT, codec)
  })
  await lower.commit()
  for (const limit of [1, 2, 3, 4]) expect(await readFrom(cursor, limit), `pages of ${limit}`).toEqual(['open, lower'])
})

test('a plain position in its place would have passed the open transaction over', async () => {
  const lower = await begun('open, lower')
  const bookmark = await own.database.transaction(TENANT, async (tx) => {
    await appendEvents(tx, [anEvent({ data: { n: 'its own' } })])
    return currentBookmark(tx)
  })
  await lower.commit()
  const [mine] = (
    await own.pool.query(`select xid::text from event where data->>'n' = 'its own' order by id desc limit 1`)
  ).rows
  const position: Bookmark = {
    epoch: bookmark.epoch,
    position: { epoch: bookmark.epoch, xid: BigInt(mine.xid), id: 1_000_000n },
    seen: null,
  }
  expect(await readFrom(codec.encode(EVENTS, TENANT, position))).toEqual([])
  expect(await readFrom(codec.encode(EVENTS, TENANT, bookmark))).toEqual(['open, lower'])
})

test('R34 a state read in a REPEATABLE READ transaction and the log after its cursor make one whole', async () => {
  const COUNT = statement<{ n: unknown }>(
    'test.whole',
    `select data->>'n' as n from event where tenant_id = $1::uuid and data->>'n' like 'whole%'`,
  )
  const open = await begun('whole: open')
  await write(own.pool, { data: { n: 'whole: before' } })
  const { state, cursor } = await own.database.transaction(
    TENANT,
    async (tx) => {
      const taken = await currentCursor(tx, TENANT, codec)
      // Committed after the snapshot: not in the state, although it is read later.
      await write(own.pool, { data: { n: 'whole: during' } })
      return { cursor: taken, state: (await tx.query(COUNT, [])).map((row) => row.n) }
    },
    { isolation: 'RepeatableRead' },
  )
  await open.commit()
  expect(state).toEqual(['whole: before'])
  expect(await readFrom(cursor)).toEqual(['whole: open', 'whole: during'])
})

test('§6 (7) a mutation that wrote inside a savepoint does not get its own events back', async () => {
  const client = await own.pool.connect()
  await client.query('begin')
  await client.query('savepoint a')
  await write(client, { data: { n: 'its own, in a savepoint' } })
  await client.query('release savepoint a')
  const cursor = await currentCursor(queryable(client, false), TENANT, codec)
  await client.query('commit')
  client.release()
  await write(own.pool, { data: { n: 'after' } })
  expect(await readFrom(cursor)).toEqual(['after'])
})

test('§6 (2) a standby lists no open transactions, so its bookmark calls nothing seen that may not have been', async () => {
  const standby = {
    run: async () => [{ snapshot: '700:720:', own: null, epoch: 1, standby: true }],
  } as unknown as typeof own.database
  expect(await currentBookmark(standby)).toEqual({ epoch: 1, position: { epoch: 1, xid: 700n, id: 0n }, seen: null })
})

test('more open transactions than a cursor lists: nothing is passed over, what was seen may come again', async () => {
  const crowd = await Promise.all(Array.from({ length: 20 }, (_, n) => begun(`crowd ${n}`)))
  await write(own.pool, { data: { n: 'seen' } })
  // 20 connections of the pool stand for the 257 that it takes; the snapshot is told as if it listed that many.
  const snapshotOf = {
    run: async () => {
      const { rows } = await own.pool.query(
        'select pg_current_snapshot()::text as snapshot, null as own, event_log_current_epoch() as epoch, false as standby',
      )
      const [xmin, xmax, list] = (rows[0].snapshot as string).split(':') as [string, string, string]
      const padded = [...list.split(','), ...Array.from({ length: 257 }, () => xmin)].join(',')
      return [{ ...rows[0], snapshot: `${xmin}:${xmax}:${padded}` }]
    },
  } as unknown as typeof own.database
  const bookmark = await currentBookmark(snapshotOf)
  expect(bookmark.seen).toBeNull()
  for (const open of crowd) await open.commit()
  const found = await readFrom(codec.encode(EVENTS, TENANT, bookmark), 500)
  expect(found.toSorted()).toEqual([...Array.from({ length: 20 }, (_, n) => `crowd ${n}`), 'seen'].toSorted())
})
