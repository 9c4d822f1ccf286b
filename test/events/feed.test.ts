import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  CursorCodec,
  EventFeed,
  type EventStream,
  type StreamItem,
  type SubscribeOptions,
} from '../../src/events/index.ts'
import { useServer } from '../harness/server.ts'
import { OTHER_TENANT, TENANT, write } from './events.ts'

const db = useServer()
const codec = new CursorCodec('a secret of some length')
let feed: EventFeed
const feeds: EventFeed[] = []

beforeEach(async () => {
  feed = await aFeed()
})
afterEach(async () => {
  for (const open of feeds.splice(0)) await open.stop()
})

async function aFeed(options: Partial<ConstructorParameters<typeof EventFeed>[0]> = {}): Promise<EventFeed> {
  const made = new EventFeed({ database: db.database, codec, ...options })
  feeds.push(made)
  await made.start()
  return made
}

/** Writes events numbered so, and hints. */
async function happen(...ns: unknown[]): Promise<void> {
  await write(db.pool, ...ns.map((n) => ({ data: { n } })))
  feed.hint()
}

const subscribe = <S = never>(options: Partial<SubscribeOptions<S>> = {}): Promise<EventStream<S>> =>
  feed.subscribe<S>({ tenantId: TENANT, ...options })

async function take<S>(stream: EventStream<S>, count: number): Promise<{ items: unknown[]; cursor: string }> {
  const items: unknown[] = []
  let last: StreamItem<S> | undefined
  while (items.length < count) {
    const { done, value } = await stream.next()
    if (done) break
    last = value
    items.push(value.kind === 'event' ? value.event.data['n'] : value.kind === 'snapshot' ? value.snapshot : value.kind)
  }
  return { items, cursor: last?.cursor ?? 'none' }
}

test('R34 without a cursor and a snapshot a stream begins now', async () => {
  await happen('long ago')
  const stream = await subscribe()
  expect((await take(stream, 1)).items).toEqual(['caughtUp'])
  await happen(1, 2)
  expect((await take(stream, 2)).items).toEqual([1, 2])
})

test('R34 snapshot, caught up, live; and from every cursor it goes on without a gap or a double', async () => {
  await happen('before')
  const stream = await subscribe({
    snapshot: async (tx) => {
      // Commits after the snapshot was taken: not in it, so it must come as an event.
      await write(db.pool, { data: { n: 'meanwhile' } })
      const rows = await tx.prisma.tenant.count()
      return `state of ${rows} tenants`
    },
  })
  const cursors: string[] = []
  const items: unknown[] = []
  const takeOne = async () => {
    const taken = await take(stream, 1)
    items.push(...taken.items)
    cursors.push(taken.cursor)
  }
  await takeOne()
  await takeOne()
  await takeOne()
  await happen(1, 2)
  await takeOne()
  await takeOne()
  await happen(3)
  await takeOne()
  expect(items.filter((item) => item === 'caughtUp')).toHaveLength(1)
  expect(items.filter((item) => item !== 'caughtUp')).toEqual(['state of 0 tenants', 'meanwhile', 1, 2, 3])
  const events = items.map((item) => (item === 'caughtUp' || item === 'state of 0 tenants' ? null : item))
  for (const [index, cursor] of cursors.entries()) {
    const rest = events.slice(index + 1).filter((event) => event !== null)
    const resumed = await subscribe({ after: cursor, snapshot: () => Promise.reject(new Error('not asked for')) })
    expect((await take(resumed, rest.length + 1)).items).toEqual([...rest, 'caughtUp'])
    await resumed.return()
  }
})

test('R35 a cursor of another tenant, a forged one and nonsense are refused alike, and nothing is left open', async () => {
  await happen(1)
  const { cursor } = await take(await subscribe(), 1)
  const open = feed.size
  const refused = { code: 'INVALID_CURSOR' }
  await expect(subscribe({ tenantId: OTHER_TENANT, after: cursor })).rejects.toMatchObject(refused)
  await expect(subscribe({ tenantId: null, after: cursor })).rejects.toMatchObject(refused)
  await expect(subscribe({ after: `B${cursor.slice(1)}` })).rejects.toMatchObject(refused)
  await expect(subscribe({ after: 'nonsense' })).rejects.toMatchObject(refused)
  await expect(subscribe({ after: '' })).rejects.toMatchObject(refused)
  expect(feed.size).toBe(open)
})

test('R35 a cursor that the log no longer reaches is told before the stream is there', async () => {
  const open = await subscribe()
  const { cursor } = await take(open, 1)
  await open.return()
  const client = await db.pool.connect()
  // As if a partition up to far beyond had been dropped.
  await client.query(`insert into event_log_partition (log, name, epoch, lower, upper, dropped_at)
                      values ('event', 'event_gone', 1, '0', '18446744073709551615', now())`)
  await expect(subscribe({ after: cursor })).rejects.toMatchObject({ code: 'CURSOR_EXPIRED', path: ['after'] })
  await client.query(`delete from event_log_partition where name = 'event_gone'`)
  client.release()
  expect(feed.size).toBe(0)
})

test('a stream gets the events of its tenant, of the kinds and subjects it names, live and from the log alike', async () => {
  const { cursor } = await take(await subscribe(), 1)
  const subjectId = '01890000-0000-7000-8000-00000000000A'
  const filter = {
    kinds: ['a', 'b'],
    subjectIds: [subjectId],
    where: (e: { data: Record<string, unknown> }) => e.data['n'] !== 'not this',
  }
  const live = await subscribe({ filter, after: cursor })
  expect((await take(live, 1)).items).toEqual(['caughtUp'])
  const all = await feed.subscribe({ tenantId: null })
  expect((await take(all, 1)).items).toEqual(['caughtUp'])
  await write(
    db.pool,
    { subjectKind: 'a', subjectId, data: { n: 1 } },
    { subjectKind: 'c', subjectId, data: { n: 2 } },
    { subjectKind: 'a', data: { n: 3 } },
    { subjectKind: 'b', subjectId, data: { n: 'not this' } },
    { subjectKind: 'a', subjectId, tenantId: OTHER_TENANT, data: { n: 4 } },
    { subjectKind: 'b', subjectId, data: { n: 5 } },
  )
  feed.hint()
  expect((await take(live, 2)).items).toEqual([1, 5])
  expect((await take(all, 6)).items).toEqual([1, 2, 3, 'not this', 4, 5])
  const replayed = await subscribe({ filter, after: cursor })
  expect((await take(replayed, 3)).items).toEqual([1, 5, 'caughtUp'])
})

test("an operator's stream resumes after its own cursors", async () => {
  const all = await feed.subscribe({ tenantId: null })
  const { cursor } = await take(all, 1)
  await write(db.pool, { data: { n: 1 } }, { tenantId: OTHER_TENANT, data: { n: 2 } })
  feed.hint()
  const first = await take(all, 1)
  expect(first.items).toEqual([1])
  expect((await take(await feed.subscribe({ tenantId: null, after: cursor }), 3)).items).toEqual([1, 2, 'caughtUp'])
  expect((await take(await feed.subscribe({ tenantId: null, after: first.cursor }), 2)).items).toEqual([2, 'caughtUp'])
  await expect(subscribe({ after: first.cursor })).rejects.toMatchObject({ code: 'INVALID_CURSOR' })
  await expect(feed.subscribe({ tenantId: null, snapshot: async () => 1 })).rejects.toThrow('has no snapshot')
})

test('events of a process that gives no hint arrive by polling', async () => {
  const stream = await subscribe()
  await take(stream, 1)
  await write(db.pool, { data: { n: 'quiet' } })
  expect((await take(stream, 1)).items).toEqual(['quiet'])
})

test('a hint crosses processes by NOTIFY, where that is on', async () => {
  // The idle wait is so long that only a notice can end it.
  const pace = { busyMs: 5, idleMs: 3_600_000, retryMs: 100, mostRetryMs: 1000 }
  const [writer, reader] = [await aFeed({ notify: true, pace }), await aFeed({ notify: true, pace })]
  const stream = await reader.subscribe({ tenantId: TENANT })
  await take(stream, 1)
  for (let n = 0; n < 20; n++) {
    await write(db.pool, { data: { n } })
    writer.hint()
    expect((await take(stream, 1)).items).toEqual([n])
  }
})

test('R36 the signal ends a stream, also before it is there', async () => {
  const leaving = new AbortController()
  const stream = await subscribe({ signal: leaving.signal })
  await take(stream, 1)
  const waiting = stream.next()
  leaving.abort()
  expect(await waiting).toEqual({ done: true, value: undefined })
  const late = await subscribe({ signal: leaving.signal })
  expect(await late.next()).toEqual({ done: true, value: undefined })
  const duringOpen = new AbortController()
  const opening = subscribe({ signal: duringOpen.signal })
  duringOpen.abort()
  expect(await (await opening).next()).toEqual({ done: true, value: undefined })
  expect(feed.size).toBe(0)
})

test('R36 streams that come and go in every way leave nobody at the hub, without any further event', async () => {
  for (let round = 0; round < 4; round++) {
    const leaving = new AbortController()
    const streams = await Promise.all(Array.from({ length: 50 }, () => subscribe({ signal: leaving.signal })))
    expect(feed.size).toBe(50)
    const ends = streams.map(async (stream, n) => {
      if (n % 3 === 0) await take(stream, 1)
      const pending = n % 2 === 0 ? stream.next() : null
      if (n % 5 < 3) await stream.return()
      await pending
    })
    leaving.abort()
    await Promise.all(ends)
    expect(feed.size).toBe(0)
  }
})

test('a stream that is opened while the feed stops is done at once', async () => {
  let stopped = Promise.resolve()
  const stream = await subscribe({
    snapshot: async () => {
      stopped = feed.stop()
    },
  })
  await stopped
  expect(await stream.next()).toEqual({ done: true, value: undefined })
  expect(feed.size).toBe(0)
})

test('a tenant may be spelled in capitals', async () => {
  const stream = await subscribe({ tenantId: TENANT.toUpperCase() })
  await take(stream, 1)
  await happen('for you')
  expect((await take(stream, 1)).items).toEqual(['for you'])
})

test('R36 a snapshot that fails is the answer, and nothing is left open', async () => {
  await expect(subscribe({ snapshot: () => Promise.reject(new Error('no such draft')) })).rejects.toThrow(
    'no such draft',
  )
  expect(feed.size).toBe(0)
})

test('R36 stopping ends every stream as done, and the feed may start again', async () => {
  const streams = await Promise.all(Array.from({ length: 10 }, () => subscribe()))
  for (const stream of streams) await take(stream, 1)
  const waiting = streams.map((stream) => stream.next())
  await feed.stop()
  for (const result of await Promise.all(waiting)) expect(result.done).toBe(true)
  expect(feed.size).toBe(0)
  await feed.stop()
  await feed.start()
  const stream = await subscribe()
  await take(stream, 1)
  await happen('again')
  expect((await take(stream, 1)).items).toEqual(['again'])
})

test('R37 a consumer that stops taking is served from the log when it goes on, and costs the others nothing', async () => {
  const small = await aFeed({ limits: { queueItems: 16, pageItems: 10 } })
  const [still, quick] = [await small.subscribe({ tenantId: TENANT }), await small.subscribe({ tenantId: TENANT })]
  await take(still, 1)
  await take(quick, 1)
  const expected = Array.from({ length: 200 }, (_, n) => n)
  for (const n of expected) {
    await write(db.pool, { data: { n } })
    small.hint()
    expect((await take(quick, 1)).items).toEqual([n])
  }
  expect((await take(still, 200)).items).toEqual(expected)
  await write(db.pool, { data: { n: 'live again' } })
  small.hint()
  expect((await take(still, 1)).items).toEqual(['live again'])
})

test('R37 a consumer that does not come back is cut off; it resumes after the cursor it is given', async () => {
  const small = await aFeed({ limits: { queueItems: 4, standstillMs: 1 } })
  const still = await small.subscribe({ tenantId: TENANT })
  await take(still, 1)
  await happen(1)
  small.hint()
  expect((await take(still, 1)).items).toEqual([1])
  await happen(...Array.from({ length: 20 }, (_, n) => n + 2))
  small.hint()
  await expect.poll(() => small.size).toBe(0)
  const error = await still.next().catch((reason: { code: string; cursor: string }) => reason)
  expect(error).toMatchObject({ code: 'SLOW_CONSUMER', cursor: expect.any(String) })
  const resumed = await small.subscribe({ tenantId: TENANT, after: (error as { cursor: string }).cursor })
  expect((await take(resumed, 21)).items).toEqual([...Array.from({ length: 20 }, (_, n) => n + 2), 'caughtUp'])
})
