import { expect, test } from 'vitest'
import {
  actOnJob,
  defineSchedule,
  failed,
  JobRegistry,
  overdueMs,
  readSchedules,
  type Schedule,
  succeeded,
} from '../../src/jobs/index.ts'
import { declareSchedules } from '../../src/jobs/periodic/declare.ts'
import { fireDue } from '../../src/jobs/periodic/fire.ts'
import {
  fireNow,
  lockSchedule,
  markSchedulePaused,
  markScheduleResumed,
  slotOfJob,
} from '../../src/jobs/periodic/operate.ts'
import type { ScheduleOptions } from '../../src/jobs/periodic/schedule.ts'
import { useDatabase } from '../harness/database.ts'
import { finished, gate, range, testJob, useEngines, waiting } from './support.ts'

const db = useDatabase()
const engines = useEngines(db)

const WORKER = '0193a000-0000-7000-8000-0000000000aa'
const HOUR = 3_600_000

type Own = Partial<ScheduleOptions<{ n: number }>>
type TestJob = ReturnType<typeof testJob>

const hourly = (job: TestJob, own: Own = {}): Schedule =>
  defineSchedule({
    name: job.type,
    job,
    payload: { n: 1 },
    ...(own.cron === undefined ? { everyMs: HOUR } : {}),
    ...own,
  })

/** Declares schedules as a process does at its start. */
const declare = (...schedules: Schedule[]) => declareSchedules(db.database, schedules)

/** Lets so many hours pass: the schedule's next slot moves into the past, no clock moves. */
async function hoursPass(name: string, hours: number): Promise<void> {
  await db.pool.query(
    `update job_schedule set next_slot = next_slot - $2 * interval '1 hour' where name = $1 and next_slot > now()`,
    [name, hours],
  )
}

const fire = ({ name, job }: Schedule) =>
  db.database.rawTransaction((tx) => fireDue(tx, new JobRegistry([job]), name, WORKER))

const slots = async (name: string) =>
  (await db.pool.query('select * from job_slot where schedule = $1 order by slot', [name])).rows as {
    slot: Date
    outcome: string
    job_id: string | null
    run_by: string | null
    finished_at: Date | null
  }[]

const outcomes = async (name: string) => (await slots(name)).map(({ outcome }) => outcome)

const scheduleRow = async (name: string) => (await readSchedules(db.database)).find((row) => row.name === name)!

test('J60 pain 22 ten connections fire a due slot at once: one job, one slot, and the next slot is after now', async () => {
  const schedule = hourly(testJob('test.one_of_ten'))
  await declare(schedule)
  await hoursPass(schedule.name, 1)
  const fired = await Promise.all(range(10).map(() => fire(schedule)))
  expect(fired.flatMap((one) => one?.jobs ?? [])).toHaveLength(1)
  expect(await outcomes(schedule.name)).toEqual(['FIRED'])
  const row = await scheduleRow(schedule.name)
  expect(row.nextSlot!.getTime()).toBeGreaterThan(row.asOf.getTime())
  expect(row.lastRun).toMatchObject({ outcome: 'FIRED', runBy: null })
  const job = await waiting(db, row.lastRun!.jobId!)
  const { slot } = row.lastRun!
  expect(job).toMatchObject({
    status: 'SCHEDULED',
    tenant_id: '00000000-0000-0000-0000-000000000000',
    triggered_by: 'system',
    correlation_id: `test.one_of_ten:${slot.toISOString()}`,
  })
  expect(slot.getTime() % HOUR).toBe(0)
  expect(await slotOfJob(db.database, row.lastRun!.jobId!)).toEqual({ schedule: schedule.name, slot })
})

test('J06 a firing that is rolled back leaves nothing: neither slot nor job, and it is still due', async () => {
  const schedule = hourly(testJob('test.rolled_back'))
  await declare(schedule)
  await hoursPass(schedule.name, 1)
  await expect(
    db.database.rawTransaction(async (tx) => {
      await fireDue(tx, new JobRegistry([schedule.job]), schedule.name, WORKER)
      throw new Error('the process died before the commit')
    }),
  ).rejects.toThrow('the process died')
  expect(await outcomes(schedule.name)).toEqual([])
  expect((await fire(schedule))!.jobs).toHaveLength(1)
})

test.each([
  ['RUN_LAST', {}, ['MISSED', 'MISSED', 'MISSED', 'MISSED', 'FIRED']],
  ['RUN_ALL', { missedLimit: 3, overlap: 'ALLOW' }, ['MISSED', 'MISSED', 'FIRED', 'FIRED', 'FIRED']],
] as const)('J55 pain 23 five hours of outage: %s', async (missed, own, expected) => {
  const schedule = hourly(testJob(`test.missed_${missed.toLowerCase()}`), { missed, ...own })
  await declare(schedule)
  await hoursPass(schedule.name, 5)
  const fired = await fire(schedule)
  expect(await outcomes(schedule.name)).toEqual(expected)
  expect(fired!.jobs).toHaveLength(expected.filter((outcome) => outcome === 'FIRED').length)
  expect(await fire(schedule)).toBeNull()
})

test('pain 23 SKIP: what was missed is left out, what is only just due is not', async () => {
  const late = hourly(testJob('test.skip_late'), { cron: '0 0 1 1 *', missed: 'SKIP' })
  const soon = hourly(testJob('test.skip_soon'), { everyMs: 1_000, missed: 'SKIP' })
  await declare(late, soon)
  await db.pool.query(
    `update job_schedule set next_slot = date_trunc('year', now(), 'UTC') - interval '1 year' where name = $1`,
    [late.name],
  )
  await db.pool.query(
    `update job_schedule set next_slot = date_trunc('second', now()) - interval '9 s' where name = $1`,
    [soon.name],
  )
  await fire(late)
  expect(await outcomes(late.name)).toEqual(['MISSED', 'MISSED'])
  await fire(soon)
  expect((await outcomes(soon.name)).filter((outcome) => outcome === 'FIRED')).toHaveLength(1)
  expect((await outcomes(soon.name)).at(-1)).toBe('FIRED')
})

test('a month without a worker: the rows of a schedule of every second stay few', async () => {
  const schedule = hourly(testJob('test.month'), { cron: '* * * * * *' })
  await declare(schedule)
  await db.pool.query(`update job_schedule set next_slot = now() - interval '30 days' where name = $1`, [schedule.name])
  expect((await fire(schedule))!.jobs).toHaveLength(1)
  expect(await outcomes(schedule.name)).toHaveLength(101)
})

test('J59 SKIP: while a run goes on the next one does not start, and says so', async () => {
  const held = gate()
  const job = testJob('test.overlap_skip', {
    run: async () => {
      await held.promise
      return succeeded()
    },
  })
  const schedule = hourly(job)
  await declare(schedule)
  await hoursPass(schedule.name, 1)
  const { signals } = await engines.start([job])
  await fire(schedule)
  await signals.first('BEGAN')
  await hoursPass(schedule.name, 1)
  // The slot that was just fired is the only one there can be in this hour; the next one is made due by hand.
  await db.pool.query(`update job_slot set slot = slot - interval '1 hour' where schedule = $1`, [schedule.name])
  expect(await fire(schedule)).toMatchObject({ jobs: [] })
  expect(await outcomes(schedule.name)).toEqual(['FIRED', 'OVERLAP'])
  held.open()
  await signals.ended(1)
  await db.pool.query(`update job_slot set slot = slot - interval '1 hour' where schedule = $1`, [schedule.name])
  await hoursPass(schedule.name, 1)
  expect((await fire(schedule))!.jobs).toHaveLength(1)
  expect((await slots(schedule.name))[0]!.finished_at).not.toBeNull()
})

test('J59 a run that holds its row in a transaction of its own keeps no schedule waiting', async () => {
  const held = gate()
  const inside = gate()
  const job = testJob('test.overlap_locked', {
    run: (_payload, context) =>
      context.transaction(async () => {
        inside.open()
        await held.promise
        return succeeded()
      }),
  })
  const schedule = hourly(job)
  await declare(schedule)
  await hoursPass(schedule.name, 1)
  await fire(schedule)
  const { signals } = await engines.start([job])
  await inside.promise
  await db.pool.query(`update job_slot set slot = slot - interval '1 hour' where schedule = $1`, [schedule.name])
  await hoursPass(schedule.name, 1)
  const answered = await fire(schedule)
  held.open()
  expect(answered).toMatchObject({ jobs: [] })
  await signals.ended(1)
})

test('K6 a run that waits for its retry, or was never begun, gives way to the next one', async () => {
  const job = testJob('test.gives_way', {
    policy: { delaysMs: [HOUR] },
    run: async () => {
      throw new Error('the first time')
    },
  })
  const schedule = hourly(job)
  await declare(schedule)
  await hoursPass(schedule.name, 1)
  const [first] = (await fire(schedule))!.jobs
  const { signals, engine } = await engines.start([job])
  await signals.first('ENDED')
  await engine.stop(500)
  expect(await waiting(db, first!.jobId)).toMatchObject({ status: 'RETRY_SCHEDULED' })

  await db.pool.query(`update job_slot set slot = slot - interval '2 hours' where schedule = $1`, [schedule.name])
  await hoursPass(schedule.name, 1)
  const [second] = (await fire(schedule))!.jobs
  expect(await finished(db, first!.jobId)).toMatchObject({
    status: 'CANCELLED',
    reason: 'The next run of its schedule has begun.',
  })
  await db.pool.query(`update job_slot set slot = slot - interval '2 hours' where schedule = $1`, [schedule.name])
  await hoursPass(schedule.name, 1)
  const [third] = (await fire(schedule))!.jobs
  expect(await finished(db, second!.jobId)).toMatchObject({ status: 'CANCELLED' })
  expect(await waiting(db, third!.jobId)).toMatchObject({ status: 'SCHEDULED' })
})

test('J59 a run that an operator has tried again keeps the next one from starting, like any other', async () => {
  const [again, held] = [gate(), gate()]
  let runs = 0
  const job = testJob('test.tried_again', {
    run: async () => {
      if (++runs === 1) return failed('test.no', 'Not the first time.')
      if (runs === 3) {
        again.open()
        await held.promise
      }
      return succeeded()
    },
  })
  const schedule = hourly(job)
  await declare(schedule)
  const { signals, engine } = await engines.start([job])
  let hours = 9
  const next = async () => {
    // The newest slot is the only one there can be in this hour; so it moves away.
    await db.pool.query(
      `update job_slot set slot = slot - $2 * interval '1 hour'
       where schedule = $1 and slot > now() - interval '90 minutes'`,
      [schedule.name, hours--],
    )
    await hoursPass(schedule.name, 1)
    const fired = (await fire(schedule))!
    engine.wake()
    return fired
  }
  const [first] = (await next()).jobs
  await signals.ended(1)
  // The second firing finds the first run over and closes it.
  await next()
  await signals.ended(2)
  await actOnJob({ database: db.database, registry: new JobRegistry([job]) }, 'RETRY', first!.jobId, {
    actor: 'olga',
    reason: 'It can be now.',
    correlationId: 'c',
  })
  engine.wake()
  await again.promise
  expect((await next()).jobs).toEqual([])
  expect(await outcomes(schedule.name)).toEqual(['FIRED', 'FIRED', 'OVERLAP'])
  held.open()
  await signals.ended(3)
  expect((await next()).jobs).toHaveLength(1)
})

test.each([
  ['ALLOW', false],
  ['CANCEL_OTHER', true],
] as const)('J59 %s: the next run starts beside a running one, which is cancelled: %s', async (overlap, cancels) => {
  const job = testJob(`test.overlap_${overlap.toLowerCase()}`, {
    run: async (_payload, context) => {
      if (context.attempt === 1 && !(await isSecond(context.jobId))) {
        await new Promise((_, reject) => context.signal.addEventListener('abort', () => reject(context.signal.reason)))
      }
      return succeeded()
    },
  })
  const isSecond = async (jobId: string) => (await slotOfJob(db.database, jobId))!.slot > cut
  let cut = new Date(8.64e15)
  const schedule = hourly(job, { overlap })
  await declare(schedule)
  await hoursPass(schedule.name, 1)
  const { signals, engine } = await engines.start([job])
  const [first] = (await fire(schedule))!.jobs
  await signals.first('BEGAN')
  await db.pool.query(`update job_slot set slot = slot - interval '1 hour' where schedule = $1`, [schedule.name])
  cut = (await slots(schedule.name))[0]!.slot
  await hoursPass(schedule.name, 1)
  const [second] = (await fire(schedule))!.jobs
  await signals.first('ENDED', ({ jobId }) => jobId === second!.jobId)
  if (cancels) {
    await signals.first('ENDED', ({ jobId }) => jobId === first!.jobId)
    expect(await finished(db, first!.jobId)).toMatchObject({ status: 'CANCELLED' })
  } else expect(await waiting(db, first!.jobId)).toMatchObject({ status: 'PROCESSING' })
  await engine.stop(500)
})

test('a paused schedule does not fire; resumed, it follows its policy for what was missed', async () => {
  const schedule = hourly(testJob('test.paused'))
  await declare(schedule)
  await db.database.systemTransaction(async (tx) => {
    expect(await lockSchedule(tx, schedule.name)).toMatchObject({ pausedAt: null })
    await markSchedulePaused(tx, schedule.name, 'olga', 'The database is being moved.')
  })
  await hoursPass(schedule.name, 3)
  expect(await fire(schedule)).toBeNull()
  // The next release declares it again, and keeps the pause.
  await declare(schedule)
  expect(await scheduleRow(schedule.name)).toMatchObject({
    pausedBy: 'olga',
    pausedReason: 'The database is being moved.',
  })
  await db.database.systemTransaction((tx) => markScheduleResumed(tx, schedule.name))
  await fire(schedule)
  expect(await outcomes(schedule.name)).toEqual(['MISSED', 'MISSED', 'FIRED'])
})

test('an operator runs a schedule by hand, paused or not; two at once have a slot each', async () => {
  const schedule = hourly(testJob('test.by_hand'), { overlap: 'ALLOW' })
  await declare(schedule)
  await db.database.systemTransaction((tx) => markSchedulePaused(tx, schedule.name, 'olga', 'why not'))
  const byHand = () =>
    db.database.systemTransaction((tx) =>
      fireNow(tx, new JobRegistry([schedule.job]), schedule.name, { by: 'olga', correlationId: 'corr-hand' }),
    )
  const runs = await Promise.all([byHand(), byHand(), byHand()])
  for (const run of runs) {
    expect(run).toMatchObject({ outcome: 'FIRED' })
    expect(await waiting(db, run!.jobId!)).toMatchObject({ correlation_id: 'corr-hand', triggered_by: 'olga' })
  }
  expect(await slots(schedule.name)).toMatchObject(range(3).map(() => ({ outcome: 'FIRED', run_by: 'olga' })))
  expect(
    await db.database.systemTransaction((tx) =>
      fireNow(tx, new JobRegistry([]), 'jobs.rescue', { by: 'olga', correlationId: 'c' }),
    ),
  ).toBeNull()
})

test('J105 declared by six processes at once, once; a new timing begins anew, anything else keeps the next slot', async () => {
  const job = testJob('test.declared')
  const before = hourly(job)
  await Promise.all(range(6).map(() => declare(before)))
  await hoursPass(before.name, 2)
  const due = (await scheduleRow(before.name)).nextSlot
  await declare(hourly(job, { missed: 'SKIP', payload: { n: 2 } }))
  expect(await scheduleRow(before.name)).toMatchObject({ nextSlot: due, missed: 'SKIP' })
  await declare(hourly(job, { cron: '0 4 * * *', timeZone: 'Europe/Amsterdam' }))
  const row = await scheduleRow(before.name)
  expect(row).toMatchObject({ everyMs: null, cron: '0 4 * * *', timeZone: 'Europe/Amsterdam' })
  expect(row.nextSlot!.getTime()).toBeGreaterThan(row.asOf.getTime())
})

test('J33 a schedule whose job this process does not know, or that nobody declares, does not fire', async () => {
  const schedule = hourly(testJob('test.newer'))
  await declare(schedule)
  await hoursPass(schedule.name, 1)
  const older = testJob('test.older')
  const { signals, engine } = await engines.start([older, schedule.job], { schedules: [hourly(older)] })
  await signals.first('IDLE')
  await engine.stop(500)
  expect(await outcomes(schedule.name)).toEqual([])
  await db.pool.query(`update job_schedule set job_type = 'test.of_next_release' where name = $1`, [schedule.name])
  expect(await fire(schedule)).toBeNull()
  expect((await scheduleRow(schedule.name)).nextSlot!.getTime()).toBeLessThan(Date.now())
})

test('J56 a schedule that cannot be fired keeps no other one waiting, and is said once', async () => {
  const bad = hourly(testJob('test.unreadable'))
  const good = hourly(testJob('test.readable'))
  const said: unknown[] = []
  const logger = { info() {}, warn() {}, error: (fields: object) => void said.push(fields) }
  const { signals } = await engines.start([bad.job, good.job], { schedules: [bad, good], logger })
  await db.pool.query(
    `update job_schedule set every_ms = null, cron = 'every now and then', next_slot = now() - interval '2 hours'
     where name = $1`,
    [bad.name],
  )
  for (const times of [1, 2]) {
    await db.pool.query(`update job_slot set slot = slot - interval '2 hours' where schedule = $1`, [good.name])
    await hoursPass(good.name, 1)
    await expect.poll(() => signals.of('FIRED').length, { timeout: 10_000 }).toBe(times)
  }
  expect(said).toEqual([{ err: expect.any(Error), schedule: bad.name }])
  expect(await outcomes(bad.name)).toEqual([])
})

test('one engine alone fires every second in its second: none is missed by looking too seldom', async () => {
  const schedule = hourly(testJob('test.every_second'), { everyMs: 1_000, overlap: 'ALLOW' })
  await engines.start([schedule.job], { schedules: [schedule] })
  // A busy machine may miss one now and then; four in a row come soon.
  const inARow = async () => {
    const fired = (await slots(schedule.name)).filter(({ outcome }) => outcome === 'FIRED')
    const seconds = new Set(fired.map(({ slot }) => slot.getTime() / 1_000))
    return [...seconds].some((second) => range(4).every((n) => seconds.has(second + n)))
  }
  await expect.poll(inARow, { timeout: 25_000, interval: 250 }).toBe(true)
})

test('a clock that went back: the next slot is worked out anew at once', async () => {
  const schedule = hourly(testJob('test.clock_back'))
  await declare(schedule)
  // As a server does whose clock is a year ahead for a moment.
  await db.pool.query(
    `update job_schedule set next_slot = next_slot + interval '1 year', reckoned_at = now() + interval '1 year'
     where name = $1`,
    [schedule.name],
  )
  const { signals } = await engines.start([schedule.job], { schedules: [schedule] })
  await expect
    .poll(async () => (await scheduleRow(schedule.name)).nextSlot!.getTime() - Date.now(), { timeout: 10_000 })
    .toBeLessThanOrEqual(HOUR)
  expect(signals.of('FIRED')).toEqual([])
  expect(await outcomes(schedule.name)).toEqual([])

  await hoursPass(schedule.name, 1)
  await signals.first('FIRED')
  expect(await outcomes(schedule.name)).toEqual(['FIRED'])
})

test('a slot that was fired makes no room when it comes again: the run that waits is its own', async () => {
  const schedule = hourly(testJob('test.again'))
  await declare(schedule)
  await hoursPass(schedule.name, 1)
  const [only] = (await fire(schedule))!.jobs
  await hoursPass(schedule.name, 1)
  expect(await fire(schedule)).toMatchObject({ jobs: [], overlapped: [] })
  expect(await waiting(db, only!.jobId)).toMatchObject({ status: 'SCHEDULED' })
})

test('J86 a schedule that a release has taken out is not late; one that living workers declare is, or when none lives', async () => {
  const [gone, kept] = [hourly(testJob('test.taken_out')), hourly(testJob('test.kept'))]
  await declare(gone, kept)
  await hoursPass(gone.name, 2)
  const late = async () => overdueMs(await scheduleRow(gone.name))
  expect(await late()).toBeGreaterThan(HOUR)

  const { engine } = await engines.start([gone.job, kept.job], { schedules: [kept] })
  expect(await scheduleRow(gone.name)).toMatchObject({ retired: true })
  expect(await scheduleRow(kept.name)).toMatchObject({ retired: false })
  expect(await scheduleRow('jobs.rescue')).toMatchObject({ retired: false })
  expect(await late()).toBe(0)

  // Another process of the release before, which cannot fire it just now.
  const before = await engines.start([gone.job], { schedules: [gone] })
  await before.signals.first('FIRED')
  await db.pool.query(`update job_schedule set job_type = 'test.of_next_release' where name = $1`, [gone.name])
  await hoursPass(gone.name, 2)
  expect(await late()).toBeGreaterThan(HOUR)
  await Promise.all([engine.stop(500), before.engine.stop(500)])
  expect(await late()).toBeGreaterThan(HOUR)
})

test('J93 schedules that cannot work are refused at start, all of them at once', async () => {
  const job = testJob('test.unknown_here')
  await expect(engines.start([], { schedules: [hourly(job), hourly(job)] })).rejects.toThrow(
    /test\.unknown_here: its job[^]*another schedule has this name/,
  )
})
