import { expect } from 'vitest'
import { CursorCodec, EventFeed, readEvents, type Bookmark } from '../../src/events/index.ts'
import type { TestDatabase } from '../harness/database.ts'
import { TENANT, write } from './events.ts'

interface Race {
  readonly writers: number
  readonly transactionsPerWriter: number
}

/**
 * Writers side by side, a third of their transactions held for up to 20 ms and 5 % rolled back, against four kinds
 * of readers. Every one of them must have each committed event once, in the log's order.
 */
export async function everyReaderGetsAll(db: TestDatabase, { writers, transactionsPerWriter }: Race): Promise<void> {
  const codec = new CursorCodec('a secret of some length')
  const feed = new EventFeed({ database: db.database, codec, limits: { queueItems: 32, pageItems: 50 } })
  await feed.start()
  let writing = true
  let total = Infinity
  const got = { pages: [] as string[], live: [] as string[], resuming: [] as string[], lagging: [] as string[] }

  const pages = async () => {
    let after: Bookmark | null = null
    while (got.pages.length < total) {
      const page = await readEvents(db.database, { tenantId: TENANT, after, limit: 7 })
      got.pages.push(...page.events.map((event) => String(event.position.id)))
      after = page.end
    }
  }
  // Takes `pause` items at a time; a lagging one then lets the event loop turn so often that its queue runs over.
  const subscriber = async (into: string[], { resumeEvery = Infinity, turns = 0 }) => {
    let cursor: string | undefined
    while (into.length < total) {
      const stream = await feed.subscribe({ tenantId: TENANT, after: cursor })
      for (let taken = 0; taken < resumeEvery && into.length < total; taken++) {
        const { done, value } = await stream.next()
        if (done) break
        cursor = value.cursor
        if (value.kind === 'event') into.push(String(value.event.position.id))
        for (let turn = 0; turn < turns && writing; turn++) await new Promise((resolve) => setImmediate(resolve))
      }
      await stream.return()
    }
  }
  const readers = [
    pages(),
    subscriber(got.live, {}),
    subscriber(got.resuming, { resumeEvery: 13 }),
    subscriber(got.lagging, { turns: 20 }),
  ]
  await expect.poll(() => feed.size).toBe(3)

  let written = 0
  await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      const random = randomFrom(writer + 1)
      const client = await db.pool.connect()
      for (let n = 0; n < transactionsPerWriter; n++) {
        const events = 1 + Math.floor(random() * 4)
        await client.query('begin')
        await write(client, ...Array.from({ length: events }, (_, i) => ({ data: { writer, n, i } })))
        // The load itself, not a wait for something: it keeps lower ids open while higher ones commit.
        if (random() < 1 / 3) await client.query('select pg_sleep($1)', [random() * 0.02])
        const undo = random() < 0.05
        await client.query(undo ? 'rollback' : 'commit')
        if (!undo) {
          written += events
          feed.hint()
        }
      }
      client.release()
    }),
  )
  writing = false
  // Readers that wait for the last events wake by these.
  total = written + 1
  await write(db.pool, { data: { n: 'last' } })
  feed.hint()
  await Promise.all(readers)

  const { rows } = await db.pool.query(
    'select e.id::text from event e where e.tenant_id = $1 order by e.epoch, e.xid, e.id',
    [TENANT],
  )
  const expected = rows.map((row) => row.id as string)
  expect(expected).toHaveLength(total)
  for (const [reader, ids] of Object.entries(got)) expect(ids, reader).toEqual(expected)
  expect(feed.size).toBe(0)
  await feed.stop()
}

/** A small seeded generator, so that a run can be repeated. */
function randomFrom(seed: number): () => number {
  let state = seed * 2654435761
  return () => {
    state = (state * 1664525 + 1013904223) % 4294967296
    return state / 4294967296
  }
}
