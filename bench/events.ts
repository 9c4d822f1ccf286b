import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Database, EmbeddedPostgres, migrate, projectFolder, queryable } from '../src/database/index.ts'
import { appendEvents, CursorCodec, EventFeed, type EventStream, type NewEvent } from '../src/events/index.ts'

// How fast an event reaches its subscribers, and what fan-out and replay cost. With DATABASE_URL on that database,
// which must be a scratch one; else on an embedded server with its ordinary, durable settings.

const TENANT = randomUUID()

function anEvent(n: number): NewEvent {
  return {
    tenantId: TENANT,
    subjectKind: 'bench',
    subjectId: randomUUID(),
    sequence: 1,
    type: 'bench.happened',
    from: 'PENDING',
    to: 'PROCESSING',
    reason: null,
    data: { n, label: 'An event of ordinary size, such as a change of status.' },
    actor: 'bench',
    correlationId: 'bench',
  }
}

export async function run(): Promise<void> {
  const given = process.env['DATABASE_URL']
  const server = given ? null : await EmbeddedPostgres.start({ project: projectFolder(), name: `bench-${process.pid}` })
  const url = given ?? server!.url()
  await migrate(url)
  const database = new Database({ url, max: 8, applicationName: 'regie bench', preparedStatements: true })
  try {
    await latencies(database)
    await fanOut(database)
    await replay(database)
  } finally {
    await database.close()
    await server?.stop()
    server?.remove()
  }
}

const aFeed = async (database: Database, notify = false): Promise<EventFeed> => {
  const feed = new EventFeed({ database, codec: new CursorCodec('a secret of some length'), notify })
  await feed.start()
  return feed
}

/** From the commit of an event on an otherwise idle server to a subscriber who has it, in milliseconds. */
async function latencies(database: Database): Promise<void> {
  const [here, elsewhere] = [await aFeed(database, true), await aFeed(database, true)]
  const quiet = await aFeed(database)
  const measure = async (name: string, reader: EventFeed, hint: () => void, count: number) => {
    const stream = await caughtUp(reader)
    const times: number[] = []
    for (let n = 0; n < count; n++) {
      // Long enough that the tail is idle again, at no fixed distance from its reads.
      await pause(300 + Math.random() * 250)
      await appendEvents(queryable(database.pool, true), [anEvent(n)])
      const committed = performance.now()
      hint()
      await stream.next()
      times.push(performance.now() - committed)
    }
    await stream.return()
    percentiles(name, times)
  }
  await measure('event_to_subscriber', here, () => here.hint(), 40)
  await measure('event_to_subscriber_of_another_process', elsewhere, () => here.hint(), 40)
  await measure('event_to_subscriber_without_hint', quiet, () => {}, 40)
  for (const feed of [here, elsewhere, quiet]) await feed.stop()
}

/** Many subscribers of one tenant, each of whom takes every event. */
async function fanOut(database: Database): Promise<void> {
  const [subscribers, events] = [500, 400]
  const feed = await aFeed(database)
  const streams = await Promise.all(Array.from({ length: subscribers }, () => caughtUp(feed)))
  const started = performance.now()
  const reading = streams.map(async (stream) => {
    for (let n = 0; n < events; n++) await stream.next()
  })
  for (let n = 0; n < events; n += 20) {
    await appendEvents(
      queryable(database.pool, true),
      Array.from({ length: 20 }, (_, i) => anEvent(n + i)),
    )
    feed.hint()
  }
  await Promise.all(reading)
  figure('fan_out_deliveries', (subscribers * events * 1000) / (performance.now() - started), 'per_second')
  await feed.stop()
}

/** One subscriber who comes back after a long time. */
async function replay(database: Database): Promise<void> {
  const events = 50_000
  const feed = await aFeed(database)
  const first = await feed.subscribe({ tenantId: TENANT })
  const { value } = await first.next()
  await first.return()
  const writing = performance.now()
  for (let n = 0; n < events; n += 1000)
    await appendEvents(
      queryable(database.pool, true),
      Array.from({ length: 1000 }, (_, i) => anEvent(n + i)),
    )
  figure('append_in_batches_of_1000', (events * 1000) / (performance.now() - writing), 'per_second')
  const reading = performance.now()
  const stream = await feed.subscribe({ tenantId: TENANT, after: value?.cursor })
  for (let n = 0; n < events; n++) await stream.next()
  figure('replay_from_the_log', (events * 1000) / (performance.now() - reading), 'per_second')
  await feed.stop()
}

async function caughtUp(feed: EventFeed): Promise<EventStream> {
  const stream = await feed.subscribe({ tenantId: TENANT })
  await stream.next()
  return stream
}

function percentiles(name: string, times: readonly number[]): void {
  const sorted = times.toSorted((a, b) => a - b)
  for (const percent of [50, 95])
    figure(`${name}_p${percent}`, sorted[Math.ceil((sorted.length * percent) / 100) - 1]!, 'ms')
}

function figure(name: string, value: number, unit: string): void {
  console.log(`figure ${name} ${value >= 100 ? Math.round(value) : value.toFixed(2)} ${unit}`)
}

await run()
