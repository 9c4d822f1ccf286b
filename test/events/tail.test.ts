import { expect, test } from 'vitest'
import type { Queryable, SqlValue, Statement } from '../../src/database/index.ts'
import { EventHub } from '../../src/events/hub.ts'
import { DEFAULT_PACE, EventTail } from '../../src/events/tail.ts'
import { anEvent, TENANT } from './events.ts'
import { TestTimers } from './fake-log.ts'

/** Notes every wait that is asked for. */
class NotingTimers extends TestTimers {
  readonly waits: number[] = []

  override after(ms: number, callback: () => void): () => void {
    this.waits.push(ms)
    return super.after(ms, callback)
  }
}

/** A database that holds events in memory; the position read up to is the number of the last event. */
class FakeDatabase implements Queryable {
  events = 0
  epoch = 1
  reads = 0
  down = false

  async run<Row>(statement: Statement<Row>, values: readonly SqlValue[]): Promise<Row[]> {
    if (this.down) throw new Error('connection refused')
    const watermark = String(this.events + 1)
    if (statement.name.startsWith('events.ends'))
      return [{ epoch: this.epoch, watermark, oldestEpoch: 1, oldestXid: '0' } as Row]
    this.reads++
    const [, xid, , limit, epoch] = values as [number, string, string, number, number]
    const head = { watermark, expired: epoch !== this.epoch, readAt: new Date(1000) }
    const first = Number(xid)
    const rows = []
    for (let n = Math.max(first, 1); n <= this.events && rows.length < limit; n++)
      rows.push({ ...head, eventXid: String(n), eventId: '1', ...anEvent({ data: { n } }), recordedAt: new Date(400) })
    return (rows.length > 0 ? rows : [{ ...head, eventXid: null, eventId: null }]) as Row[]
  }
}

function set() {
  const database = new FakeDatabase()
  const hub = new EventHub()
  const timers = new NotingTimers()
  const lines: string[] = []
  const reads: unknown[] = []
  const got: unknown[] = []
  const ends: unknown[] = []
  hub.attach({ tenantId: TENANT, offer: (event) => got.push(event.data['n']), end: (error) => ends.push(error) })
  const logger = {
    warn: (_: object, message: string) => lines.push(`warn: ${message}`),
    info: (_: object, message: string) => lines.push(`info: ${message}`),
  }
  const tail = new EventTail({ database, hub, timers, logger, onRead: (read) => reads.push(read) })
  /** Until the tail waits for its clock. */
  const waiting = () => expect.poll(() => timers.size, { interval: 1 }).toBe(1)
  /** Turns the clock by what the tail has asked for last. */
  const turn = async () => {
    await waiting()
    timers.advance(timers.waits.at(-1)!)
    await waiting()
  }
  return { database, hub, timers, lines, reads, got, ends, tail, waiting, turn }
}

test('it publishes what happens after its start, in order, and tells how late', async () => {
  const { database, got, reads, tail, turn } = set()
  database.events = 3
  await tail.start()
  database.events = 5
  await turn()
  await turn()
  expect(got).toEqual([4, 5])
  expect(reads).toEqual([{ events: 2, lagSeconds: 0.6 }])
  await tail.stop()
})

test('idle, it reads ever less often, down to every 250 ms; an event makes it quick again', async () => {
  const { database, timers, tail, turn } = set()
  await tail.start()
  for (let n = 0; n < 20; n++) await turn()
  const { busyMs, idleMs } = DEFAULT_PACE
  expect(timers.waits.slice(-2).toSorted((a, b) => a - b)).toEqual([busyMs, idleMs - busyMs])
  expect(Math.max(...timers.waits)).toBe(idleMs - busyMs)
  const before = timers.waits.length
  database.events++
  await turn()
  await turn()
  await turn()
  expect(timers.waits.slice(before).filter((ms) => ms > busyMs)).toHaveLength(1)
  await tail.stop()
})

test('a hint ends the idle wait at once; a thousand hints cost one read', async () => {
  const { database, timers, got, tail, turn } = set()
  await tail.start()
  for (let n = 0; n < 20; n++) await turn()
  while (timers.waits.at(-1) === DEFAULT_PACE.busyMs) await turn()
  const reads = database.reads
  database.events++
  for (let n = 0; n < 1000; n++) tail.hint()
  await expect.poll(() => got).toEqual([1])
  expect(database.reads).toBe(reads + 1)
  await tail.stop()
})

test('a backlog is read page after page without waiting, and published in slices', async () => {
  const { database, timers, got, hub, tail, turn } = set()
  await tail.start()
  const sizes: number[] = []
  const publish = hub.publish.bind(hub)
  hub.publish = (events, reached) => {
    sizes.push(events.length)
    publish(events, reached)
  }
  database.events = 1200
  await turn()
  await turn()
  expect(got).toHaveLength(1200)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(64)
  expect(timers.waits.filter((ms) => ms > 245)).toEqual([])
  await tail.stop()
})

test('while the database is away it tries ever less often, says so once, and goes on without a gap', async () => {
  const { database, timers, lines, got, tail, turn } = set()
  await tail.start()
  await turn()
  database.events++
  database.down = true
  const before = timers.waits.length
  for (let n = 0; n < 12; n++) await turn()
  expect(tail.failing).toBe(true)
  const backoff = timers.waits.slice(before).filter((ms) => ms >= DEFAULT_PACE.retryMs)
  expect(backoff.slice(0, 6)).toEqual([100, 200, 400, 800, 1600, 3200])
  expect(backoff.at(-1)).toBe(DEFAULT_PACE.mostRetryMs)
  expect(lines).toHaveLength(1)
  tail.hint()
  expect(got).toEqual([])
  database.down = false
  await turn()
  await turn()
  expect(tail.failing).toBe(false)
  expect(lines).toEqual([expect.stringContaining('keeps trying'), expect.stringContaining('reads the log again')])
  expect(got).toEqual([1])
  await tail.stop()
})

test('a new epoch ends every listener with the reason, and the tail begins anew', async () => {
  const { database, ends, got, tail, turn } = set()
  await tail.start()
  database.epoch = 2
  await turn()
  await turn()
  expect(ends).toEqual([expect.objectContaining({ code: 'CURSOR_EXPIRED' })])
  database.events++
  await turn()
  await turn()
  expect(got).toEqual([1])
  await tail.stop()
})

test('start and stop may be called at any time and any number of times', async () => {
  const { database, timers, got, tail, turn } = set()
  await tail.stop()
  database.down = true
  await expect(tail.start()).rejects.toThrow('connection refused')
  database.down = false
  await Promise.all([tail.start(), tail.start()])
  await turn()
  await Promise.all([tail.stop(), tail.stop()])
  expect(timers.size).toBe(0)
  const reads = database.reads
  database.events++
  tail.hint()
  timers.advance(10_000)
  expect(database.reads).toBe(reads)
  await tail.start()
  database.events++
  await turn()
  await turn()
  // What happened while it was stopped is behind its new beginning.
  expect(got).toEqual([2])
  await tail.stop()
})
