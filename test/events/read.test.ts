import { beforeAll, expect, test } from 'vitest'
import { bookmarkAt, readEvents, type Bookmark, type LogEvent } from '../../src/events/index.ts'
import { useServer } from '../harness/server.ts'
import { anEvent, numbers, OTHER_TENANT, TENANT, write } from './events.ts'

// A server of its own: these tests hold the watermark, which is one for all databases of a server.
const own = useServer()

/** Everything in the log after a bookmark, in pages of `limit`. */
async function readAll(after: Bookmark | null, limit = 500, tenantId: string | null = TENANT) {
  const events: LogEvent[] = []
  for (;;) {
    const page = await readEvents(own.database, { tenantId, after, limit })
    events.push(...page.events)
    after = page.end
    if (page.complete) return { events, end: after }
  }
}

let start: Bookmark
beforeAll(async () => {
  start = (await readAll(null)).end
})

test('an event is read back as it was written', async () => {
  const from = (await readAll(start)).end
  const event = anEvent({
    from: 'A',
    to: 'B',
    reason: 'because',
    data: { n: 1, deep: { list: [1, 'é'] } },
    sequence: 7,
  })
  await write(own.pool, event)
  const { events } = await readAll(from)
  expect(events).toEqual([{ ...event, position: expect.anything(), recordedAt: expect.any(Date) }])
})

test('another tenant reads nothing of it; an operator reads both', async () => {
  const from = (await readAll(start)).end
  await write(own.pool, { data: { n: 1 } }, { tenantId: OTHER_TENANT, data: { n: 2 } })
  expect(numbers((await readAll(from)).events)).toEqual([1])
  expect(numbers((await readAll(from, 500, OTHER_TENANT)).events)).toEqual([2])
  expect(numbers((await readAll(from, 500, null)).events)).toEqual([1, 2])
})

test('a reader may narrow to kinds and subjects', async () => {
  const from = (await readAll(start)).end
  const [a, b] = [anEvent({ subjectKind: 'a', data: { n: 1 } }), anEvent({ subjectKind: 'b', data: { n: 2 } })]
  await write(own.pool, a, b, { subjectKind: 'a', data: { n: 3 } })
  const read = async (narrow: { kinds?: string[]; subjectIds?: string[] }) =>
    numbers((await readEvents(own.database, { tenantId: TENANT, after: from, limit: 10, ...narrow })).events)
  expect(await read({ kinds: ['a'] })).toEqual([1, 3])
  expect(await read({ subjectIds: [b.subjectId] })).toEqual([2])
  expect(await read({ kinds: ['a'], subjectIds: [a.subjectId, b.subjectId] })).toEqual([1])
  expect(await read({ kinds: [] })).toEqual([])
})

test('§6 (12) a transaction that rolls back leaves a hole in the ids and nothing else', async () => {
  const from = (await readAll(start)).end
  const client = await own.pool.connect()
  await client.query('begin')
  await write(client, { data: { n: 'undone' } })
  await client.query('rollback')
  client.release()
  await write(own.pool, { data: { n: 'done' } })
  expect(numbers((await readAll(from)).events)).toEqual(['done'])
})

test('§6 (1, 6) an open transaction with a lower id holds back what commits after it, and nothing is passed over', async () => {
  const from = (await readAll(start)).end
  const [first, second] = [await own.pool.connect(), await own.pool.connect()]
  await first.query('begin')
  await write(first, { data: { n: 'first' } })
  await write(second, { data: { n: 'second' } })
  const meanwhile = await readAll(from)
  expect(numbers(meanwhile.events)).toEqual([])
  await first.query('commit')
  expect(numbers((await readAll(meanwhile.end)).events)).toEqual(['first', 'second'])
  first.release()
  second.release()
})

test('§6 (7) savepoints: an event carries the id of the whole transaction, and what a savepoint undid is gone', async () => {
  const from = (await readAll(start)).end
  const client = await own.pool.connect()
  await client.query('begin')
  await write(client, { data: { n: 1 } })
  await client.query('savepoint a')
  await write(client, { data: { n: 2 } })
  await client.query('savepoint b')
  await write(client, { data: { n: 3 } })
  await client.query('rollback to savepoint b')
  await client.query('release savepoint a')
  await write(client, { data: { n: 4 } })
  const { rows } = await client.query('select pg_current_xact_id()::text as xid')
  await client.query('commit')
  client.release()
  const { events } = await readAll(from)
  expect(numbers(events)).toEqual([1, 2, 4])
  expect(new Set(events.map((event) => String(event.position.xid)))).toEqual(new Set([rows[0].xid]))
})

test('§6 (11) a page may end inside a transaction, and the next one begins there', async () => {
  const from = (await readAll(start)).end
  await write(own.pool, ...[1, 2, 3, 4, 5, 6, 7].map((n) => ({ data: { n } })))
  const page = await readEvents(own.database, { tenantId: TENANT, after: from, limit: 3 })
  expect(numbers(page.events)).toEqual([1, 2, 3])
  expect(page.complete).toBe(false)
  expect(numbers((await readAll(page.end, 3)).events)).toEqual([4, 5, 6, 7])
})

test('§6 (4) the roll-over from 999 to 1000 of xid and id keeps the order, page by page', async () => {
  // A fresh server has given out fewer than a thousand transaction ids.
  const { rows } = await own.pool.query('select pg_current_xact_id()::text as xid')
  expect(Number(rows[0].xid)).toBeLessThan(995)
  const from = (await readAll(start)).end
  await own.pool.query('alter table event alter column id restart with 998')
  for (let xid = Number(rows[0].xid); xid < 995; xid++) await own.pool.query('select pg_current_xact_id()')
  const written: number[] = []
  for (let n = 1; n <= 12; n++) {
    await write(own.pool, { data: { n } })
    written.push(n)
  }
  const { events } = await readAll(from, 2)
  expect(numbers(events)).toEqual(written)
  expect(events.map((event) => event.position.xid)).toContain(999n)
  expect(events.map((event) => event.position.xid)).toContain(1000n)
  expect(events.map((event) => event.position.id)).toContain(999n)
  expect(events.map((event) => event.position.id)).toContain(1000n)
})

test('§6 (8) ids beyond what a JavaScript number holds keep every digit', async () => {
  // In an epoch that is over, where no watermark hides them.
  await own.pool.query(
    `insert into event (epoch, xid, tenant_id, subject_kind, subject_id, sequence, type, actor, correlation_id)
     values (0, '9007199254740993', $1, 'thing', gen_random_uuid(), 1, 'x', 'x', 'x'),
            (0, '9007199254740995', $1, 'thing', gen_random_uuid(), 1, 'x', 'x', 'x')`,
    [TENANT],
  )
  const after = { ...start, position: { epoch: 0, xid: 9007199254740993n, id: 0n } }
  const { events } = await readEvents(own.database, { tenantId: TENANT, after, limit: 1 })
  expect(events.map((event) => event.position.xid)).toEqual([9007199254740993n])
  const beyond = { ...after, position: events[0]!.position }
  const next = await readEvents(own.database, { tenantId: TENANT, after: beyond, limit: 1 })
  expect(next.events.map((event) => event.position.xid)).toEqual([9007199254740995n])
})

test('a log that was restored to an earlier moment answers a later cursor with expired, not with silence', async () => {
  const { end } = await readAll(start)
  const later = bookmarkAt(end.epoch, end.position.xid + 1_000_000n)
  await expect(readAll(later)).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' })
})
