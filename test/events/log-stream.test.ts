import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { CursorCodec, currentCursor, LogFeed, type LogItem, WatchedValue } from '../../src/events/index.ts'
import { JOB_EVENTS, type JobEvent } from '../../src/jobs/job-log.ts'
import { INSTALLATION } from '../../src/jobs/tenant.ts'
import { useServer } from '../harness/server.ts'
import { TestTimers } from './fake-log.ts'

const db = useServer()
const codec = new CursorCodec('a secret for tests only')
const PACE = { pageItems: 3, busyMs: 5, idleMs: 20, retryMs: 5, mostRetryMs: 20 }
const feed = () => new LogFeed<JobEvent>({ database: db.database, codec, log: JOB_EVENTS, pace: PACE })

const log = (jobs: readonly string[], type = 'test.a', to = 'SUCCEEDED') =>
  db.pool.query(
    `insert into job_event (epoch, job_id, tenant_id, type, attempt, claim_epoch, "from", "to", actor, correlation_id)
     select 1, id::uuid, $2, $3, 1, 1, 'PROCESSING', $4, 'system', 'corr' from jsonb_array_elements_text($1) id`,
    [JSON.stringify(jobs), INSTALLATION, type, to],
  )
const ids = (count: number) => Array.from({ length: count }, () => randomUUID())

/** The jobs of the next so many events, with the cursor after the last of them. */
async function take(stream: AsyncIterator<LogItem<JobEvent>>, count: number) {
  const jobs: string[] = []
  let cursor = ''
  while (jobs.length < count) {
    const { done, value } = await stream.next()
    if (done === true) throw new Error('The stream ended.')
    cursor = value.cursor
    if (value.kind === 'event') jobs.push(value.event.jobId)
  }
  return { jobs, cursor }
}

describe('a stream of the second log', () => {
  test('R34 gives what follows the cursor, then caughtUp, then what happens, resumed anywhere without gap or double', async () => {
    const after = await currentCursor(db.database, INSTALLATION, codec)
    const jobs = ids(10)
    await log(jobs.slice(0, 7))
    const first = await feed().follow({ after, momentsOf: [INSTALLATION] })
    const begun = await take(first, 5)
    await first.return()
    const second = await feed().follow({ after: begun.cursor })
    const caughtUp: boolean[] = []
    const rest: string[] = []
    for await (const item of second) {
      if (item.kind === 'event') rest.push(item.event.jobId)
      else {
        caughtUp.push(true)
        await log(jobs.slice(7))
      }
      if (rest.length === 5) break
    }
    expect([...begun.jobs, ...rest]).toEqual(jobs)
    expect(caughtUp).toEqual([true])
  })

  test('R34 of a transaction that was open when the cursor was given out nothing is missed', async () => {
    const slow = await db.pool.connect()
    const [early, late] = ids(2)
    try {
      await slow.query('begin')
      await slow.query(
        `insert into job_event (epoch, job_id, tenant_id, type, attempt, claim_epoch, "from", "to", actor, correlation_id)
         values (1, $1, $2, 'test.slow', 1, 1, 'PROCESSING', 'FAILED', 'system', 'corr')`,
        [early, INSTALLATION],
      )
      const stream = await feed().follow({ filters: [['test.slow']] })
      await log([late!], 'test.slow')
      await slow.query('commit')
      expect((await take(stream, 2)).jobs).toEqual([early, late])
      await stream.return()
    } finally {
      slow.release(true)
    }
  })

  test('R25 filters by type, status and tenant in the statement', async () => {
    const after = await currentCursor(db.database, INSTALLATION, codec)
    const [wanted, ...others] = ids(4)
    await log([others[0]!], 'test.other', 'FAILED')
    await log([others[1]!], 'test.b', 'SUCCEEDED')
    await log([wanted!], 'test.b', 'FAILED')
    const stream = await feed().follow({
      after,
      momentsOf: [INSTALLATION],
      filters: [['test.b'], ['FAILED'], [INSTALLATION]],
    })
    expect((await take(stream, 1)).jobs).toEqual([wanted])
    expect((await stream.next()).value).toMatchObject({ kind: 'caughtUp' })
    await stream.return()
    const nobody = await feed().follow({
      after,
      momentsOf: [INSTALLATION],
      filters: [undefined, undefined, [randomUUID()]],
    })
    expect((await nobody.next()).value).toMatchObject({ kind: 'caughtUp' })
    await nobody.return()
  })

  test('R35 takes moments of the tenants it is told of, never an event’s cursor of another log or a forged one', async () => {
    const stranger = randomUUID()
    const moment = await currentCursor(db.database, stranger, codec)
    await expect(feed().follow({ after: moment, momentsOf: [INSTALLATION] })).rejects.toThrow('was not given out')
    const stream = await feed().follow({ after: moment, momentsOf: [INSTALLATION, stranger] })
    await stream.return()
    const atEvent = codec.encode({ table: 'event', columns: '' }, stranger, {
      epoch: 1,
      position: { epoch: 1, xid: 10n, id: 3n },
      seen: null,
    })
    for (const after of [atEvent, 'x', `${moment.slice(0, -2)}aa`])
      await expect(feed().follow({ after, momentsOf: [stranger] })).rejects.toThrow('was not given out')
  })

  test('R36 return ends a stream that waits at once, and nothing of it is left', async () => {
    const one = feed()
    const stream = await one.follow({})
    await stream.next()
    const waiting = stream.next()
    expect(one.size).toBe(1)
    await stream.return()
    expect(await waiting).toEqual({ done: true, value: undefined })
    const abort = new AbortController()
    const aborted = await one.follow({ signal: abort.signal })
    abort.abort()
    expect((await aborted.next()).done).toBe(true)
    const stopped = await one.follow({})
    one.stop()
    expect((await stopped.next()).done).toBe(true)
    expect((await (await one.follow({})).next()).done).toBe(true)
    expect(one.size).toBe(0)
  })

  test('R36 a connection that is cut while it waits is no end', async () => {
    const stream = await feed().follow({ filters: [['test.cut']] })
    expect((await stream.next()).value).toMatchObject({ kind: 'caughtUp' })
    const waiting = take(stream, 1)
    await db.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = 'regie test'`,
    )
    const [job] = ids(1)
    await log([job!], 'test.cut')
    expect((await waiting).jobs).toEqual([job])
    await stream.return()
  })
})

describe('a value that is watched', () => {
  /** Lets everything that is ready happen. */
  const settle = () => new Promise((resolve) => setImmediate(resolve))

  test('J85 is read once for all followers, at most once per interval, and not at all without any', async () => {
    const timers = new TestTimers()
    let reads = 0
    let value = 'a'
    const watched = new WatchedValue({ everyMs: 1_000, timers, read: async () => (reads++, value) })
    expect(reads).toBe(0)
    const [one, two] = [watched.follow(), watched.follow()]
    expect([(await one.next()).value, (await two.next()).value]).toEqual(['a', 'a'])
    expect(reads).toBe(1)
    const third = watched.follow()
    expect((await third.next()).value).toBe('a')
    const [nextOfOne, nextOfTwo] = [one.next(), two.next()]
    timers.advance(1_000)
    await settle()
    expect(reads).toBe(2)
    value = 'b'
    timers.advance(999)
    await settle()
    expect(reads).toBe(2)
    timers.advance(1)
    expect([(await nextOfOne).value, (await nextOfTwo).value]).toEqual(['b', 'b'])
    // Slow: what came in between is gone, the newest is there.
    value = 'c'
    timers.advance(1_000)
    await settle()
    value = 'd'
    timers.advance(1_000)
    await settle()
    expect((await third.next()).value).toBe('d')
    for (const follower of [one, two, third]) await follower.return!()
    expect(watched.size).toBe(0)
    timers.advance(1_000)
    await settle()
    const before = reads
    timers.advance(10_000)
    await settle()
    expect([reads, timers.size]).toEqual([before, 0])
  })

  test('R36 waits out a database that is away, tells any other failure, and ends at once', async () => {
    const timers = new TestTimers()
    let failure: Error | null = Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })
    const read = async () => {
      if (failure !== null) throw failure
      return 1
    }
    const watched = new WatchedValue({ everyMs: 10, timers, read })
    const follower = watched.follow()
    const first = follower.next()
    await settle()
    failure = null
    timers.advance(10)
    expect((await first).value).toBe(1)
    failure = new Error('a bug')
    const second = follower.next()
    timers.advance(10)
    await expect(second).rejects.toThrow('a bug')
    expect(await follower.next()).toEqual({ done: true, value: undefined })
    failure = null
    const abort = new AbortController()
    const other = watched.follow(abort.signal)
    await other.next()
    const waiting = other.next()
    abort.abort()
    expect((await waiting).done).toBe(true)
    watched.stop()
    expect((await watched.follow().next()).done).toBe(true)
  })
})
