import { expect, test } from 'vitest'
import { CursorExpiredError } from '../../src/events/index.ts'
import { DEFAULT_LIMITS } from '../../src/events/stream.ts'
import { FakeLog, range, take } from './fake-log.ts'

const SMALL = { ...DEFAULT_LIMITS, queueItems: 4, pageItems: 3 }

/** Lets everything run that does not wait for anything. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

test('R34 log, then caught up, then live', async () => {
  const log = new FakeLog()
  log.happen(5)
  const stream = log.stream(2)
  expect(await take(stream, 4)).toEqual(['3', '4', '5', 'caughtUp'])
  const next = take(stream, 2)
  log.happen(1)
  log.happen(1)
  expect(await next).toEqual(['6', '7'])
})

test('R34 a snapshot comes first', async () => {
  const log = new FakeLog()
  log.happen(3)
  const stream = log.stream(3, { snapshot: { state: 'the state' } })
  expect(await stream.next()).toEqual({ done: false, value: { kind: 'snapshot', snapshot: 'the state', cursor: '3' } })
  expect(await stream.next()).toEqual({ done: false, value: { kind: 'caughtUp', cursor: '3' } })
})

test('R34 every item carries the cursor to resume after it', async () => {
  const log = new FakeLog()
  log.happen(2)
  const stream = log.stream()
  const cursors: string[] = []
  for (let n = 0; n < 3; n++) cursors.push((await stream.next()).value!.cursor)
  log.happen(1)
  cursors.push((await stream.next()).value!.cursor)
  expect(cursors).toEqual(['1', '2', '2', '3'])
})

test('R34 what happens while the log is read comes once, whether the read saw it or not', async () => {
  const log = new FakeLog()
  log.happen(2)
  for (const seenByRead of [true, false]) {
    const stream = log.stream(log.events.length - 2)
    const n = log.events.length
    let go = () => {}
    log.holdReads = new Promise((resolve) => (go = resolve))
    if (seenByRead) log.commit(1)
    const items = take(stream, 4)
    await settle()
    if (seenByRead) log.publish()
    else log.happen(1)
    go()
    log.holdReads = null
    const got = await items
    expect(got.toSorted()).toEqual([...range(n - 1, n + 1), 'caughtUp'].toSorted())
    expect(got.indexOf('caughtUp')).toBe(seenByRead ? 3 : 2)
    await stream.return()
  }
})

test('R34 a read from a standby that is behind the hub is repeated until it reaches it', async () => {
  const log = new FakeLog()
  log.happen(2)
  log.commit(2, { visible: false })
  log.publish()
  const stream = log.stream(0)
  expect(await take(stream, 2)).toEqual(['1', '2'])
  const rest = take(stream, 3)
  await settle()
  log.reveal()
  await expect.poll(() => (log.timers.advance(DEFAULT_LIMITS.rereadMs), log.reads)).toBeGreaterThan(1)
  expect(await rest).toEqual(['3', '4', 'caughtUp'])
})

test('R36 return() ends a waiting next() at once and leaves nobody at the hub, without any event', async () => {
  const log = new FakeLog()
  const stream = log.stream()
  expect(await take(stream, 1)).toEqual(['caughtUp'])
  const waiting = [stream.next(), stream.next()]
  expect(log.hub.size).toBe(1)
  expect(await stream.return()).toEqual({ done: true, value: undefined })
  expect(log.hub.size).toBe(0)
  expect(await Promise.all(waiting)).toEqual([
    { done: true, value: undefined },
    { done: true, value: undefined },
  ])
  expect(await stream.next()).toEqual({ done: true, value: undefined })
})

test('R36 return() does not wait for a read of the log either', async () => {
  const log = new FakeLog()
  log.holdReads = new Promise(() => {})
  const stream = log.stream()
  const waiting = stream.next()
  await settle()
  await stream.return()
  expect(await waiting).toEqual({ done: true, value: undefined })
  expect(log.hub.size).toBe(0)
})

test('R36 throw() detaches and rejects', async () => {
  const log = new FakeLog()
  const stream = log.stream()
  await expect(stream.throw(new Error('enough'))).rejects.toThrow('enough')
  expect(log.hub.size).toBe(0)
})

test('R36 leaving a for-await loop detaches', async () => {
  const log = new FakeLog()
  for await (const item of log.stream()) if (item.kind === 'caughtUp') break
  expect(log.hub.size).toBe(0)
})

test('R36 a thousand streams come and go, in every way and at every point, and none is left', async () => {
  const log = new FakeLog()
  log.happen(3)
  const ended: unknown[] = []
  const streams = Array.from({ length: 1000 }, (_, n) => log.stream(n % 4, { onEnd: (error) => ended.push(error) }))
  expect(log.hub.size).toBe(1000)
  const waiting = streams.map(async (stream, n) => {
    for (let taken = 0; taken < n % 6; taken++) await stream.next()
    const pending = n % 2 === 0 ? stream.next() : null
    if (n % 5 === 0) await stream.throw(new Error('left')).catch(() => {})
    else await stream.return()
    await pending
  })
  log.happen(2)
  await settle()
  log.hub.endAll(null)
  await Promise.all(waiting)
  expect(log.hub.size).toBe(0)
  expect(ended).toHaveLength(1000)
  expect(log.timers.size).toBe(0)
})

test('R37 a full queue is dropped and the log takes over: nothing lost, nothing double, memory bounded', async () => {
  const log = new FakeLog()
  const stream = log.stream(0, { limits: SMALL })
  expect(await take(stream, 1)).toEqual(['caughtUp'])
  const readsBefore = log.reads
  log.happen(4)
  expect(await take(stream, 1)).toEqual(['1'])
  expect(log.reads).toBe(readsBefore)
  for (let n = 0; n < 20; n++) log.happen(1)
  expect(await take(stream, 23)).toEqual(range(2, 24))
  expect(log.reads).toBeGreaterThan(readsBefore)
  const live = take(stream, 2)
  log.happen(2)
  expect(await live).toEqual(['25', '26'])
})

test('R37 the queue is bounded in bytes as well', async () => {
  const log = new FakeLog()
  const stream = log.stream(0, { limits: { ...DEFAULT_LIMITS, queueBytes: 1000 } })
  await take(stream, 1)
  log.happen(3)
  expect(log.timers.size).toBe(1)
  expect(await take(stream, 3)).toEqual(range(1, 3))
})

test('R37 who falls behind and takes nothing is cut off with the cursor of the last item, and told', async () => {
  const log = new FakeLog()
  const ended: unknown[] = []
  const stream = log.stream(0, { limits: SMALL, onEnd: (error) => ended.push(error) })
  expect(await take(stream, 1)).toEqual(['caughtUp'])
  log.happen(1)
  expect(await take(stream, 1)).toEqual(['1'])
  log.happen(10)
  log.timers.advance(SMALL.standstillMs - 1)
  expect(log.hub.size).toBe(1)
  log.timers.advance(1)
  expect(log.hub.size).toBe(0)
  expect(ended).toEqual([expect.objectContaining({ code: 'SLOW_CONSUMER', cursor: '1' })])
  await expect(stream.next()).rejects.toMatchObject({ code: 'SLOW_CONSUMER', cursor: '1' })
  expect(await stream.next()).toEqual({ done: true, value: undefined })
})

test('R37 who is behind but keeps taking is not cut off', async () => {
  const log = new FakeLog()
  const stream = log.stream(0, { limits: SMALL })
  await take(stream, 1)
  log.happen(30)
  for (let n = 1; n <= 30; n++) {
    log.timers.advance(SMALL.standstillMs - 1)
    expect(await take(stream, 1)).toEqual([String(n)])
  }
  expect(log.hub.size).toBe(1)
  await stream.return()
  expect(log.timers.size).toBe(0)
})

test('R37 who has caught up may wait for an event as long as it takes', async () => {
  const log = new FakeLog()
  const stream = log.stream(0, { limits: SMALL })
  await take(stream, 1)
  log.timers.advance(SMALL.standstillMs * 100)
  const next = take(stream, 1)
  log.happen(1)
  expect(await next).toEqual(['1'])
})

test('R37 one that stands still costs the others nothing', async () => {
  const log = new FakeLog()
  const still = log.stream(0, { limits: SMALL })
  const quick = log.stream(0, { limits: SMALL })
  await take(still, 1)
  await take(quick, 1)
  for (let n = 1; n <= 100; n++) {
    log.happen(1)
    expect(await take(quick, 1)).toEqual([String(n)])
  }
  expect(log.reads).toBe(2)
  log.timers.advance(SMALL.standstillMs)
  await expect(still.next()).rejects.toMatchObject({ code: 'SLOW_CONSUMER' })
  expect(log.hub.size).toBe(1)
})

test('R36 a filter that throws ends its stream and no other, and never reaches the publisher', async () => {
  const log = new FakeLog()
  const broken = log.stream(0, {
    matches: () => {
      throw new Error('a bug in a filter')
    },
  })
  const sound = log.stream()
  await take(broken, 1)
  await take(sound, 1)
  log.happen(1)
  await expect(broken.next()).rejects.toThrow('a bug in a filter')
  expect(await take(sound, 1)).toEqual(['1'])
  expect(log.hub.size).toBe(1)
})

test('R35 a log that went on elsewhere ends its streams with the reason; so does a read that is told so', async () => {
  const log = new FakeLog()
  const live = log.stream()
  await take(live, 1)
  const waiting = live.next()
  log.hub.endAll(new CursorExpiredError())
  await expect(waiting).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' })

  log.failReads = new CursorExpiredError()
  const opening = log.stream()
  await expect(opening.open()).rejects.toMatchObject({ code: 'CURSOR_EXPIRED' })
  expect(log.hub.size).toBe(0)
})

test('the process stops: streams are done, waiting or not', async () => {
  const log = new FakeLog()
  const [waiting, idle] = [log.stream(), log.stream()]
  await take(waiting, 1)
  const next = waiting.next()
  log.hub.endAll(null)
  expect(await next).toEqual({ done: true, value: undefined })
  expect(await idle.next()).toEqual({ done: true, value: undefined })
  expect(log.hub.size).toBe(0)
})
