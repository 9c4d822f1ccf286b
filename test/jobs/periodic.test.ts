import { expect, test } from 'vitest'
import type { EngineParts } from '../../src/jobs/engine/parts.ts'
import { Permits } from '../../src/jobs/engine/permits.ts'
import { enqueue, JobRegistry, readSchedules } from '../../src/jobs/index.ts'
import { WATCHING } from '../../src/jobs/periodic/on-the-spot.ts'
import { ENGINE_JOBS, ENGINE_SCHEDULES } from '../../src/jobs/periodic/own-jobs.ts'
import { type PeriodicTask, Ticker } from '../../src/jobs/periodic/ticker.ts'
import { useDatabase } from '../harness/database.ts'
import { enqueueNumbers, finished, range, silent, TENANT, testJob, useEngines, waiting } from './support.ts'

const db = useDatabase()
const engines = useEngines(db)

const parts = (n: number): EngineParts => ({
  database: db.database,
  registry: new JobRegistry([]),
  workerId: `0193a000-0000-7000-8000-${String(n).padStart(12, '0')}`,
  logger: silent,
  transactions: new Permits(2),
  onCommitted: () => {},
  signal: null,
})

const slots = async (schedule: string) =>
  (
    await db.pool.query(
      'select slot, worker_id, finished_at, problem, result from job_slot where schedule = $1 order by slot',
      [schedule],
    )
  ).rows

/** Runs one of the engine's own jobs to its end; answers with its row. */
async function runOwn(type: string) {
  const definition = ENGINE_JOBS.find((job) => job.type === type)!
  const { jobId } = await enqueue(db.database, definition, {
    tenantId: null,
    payload: {},
    correlationId: 'corr-own',
    triggeredBy: 'tester',
  })
  const { engine, signals, database } = await engines.start([], { slot: 1 })
  await signals.first('ENDED', (signal) => signal.jobId === jobId)
  await engine.stop(500)
  return { job: await finished(db, jobId), waits: await waiting(db, jobId), database }
}

test('J60 pain 24 on the spot: six processes fire each slot once', async () => {
  let runs = 0
  const task: PeriodicTask = { name: 'test.often', everyMs: 40, run: async () => void runs++ }
  const tickers = range(6).map((n) => new Ticker(parts(n), [task]))
  await Promise.all(tickers.map((ticker) => ticker.start()))
  await expect.poll(() => runs, { timeout: 10_000 }).toBeGreaterThan(10)
  await Promise.all(tickers.map((ticker) => ticker.stop()))
  const fired = await slots('test.often')
  expect(fired).toHaveLength(runs)
  expect(new Set(fired.map(({ slot }) => slot.getTime())).size).toBe(runs)
  for (const { slot } of fired) expect(slot.getTime() % 40).toBe(0)
})

test('J58 on the spot: a task that fails says so on its slot, and the next slot tries again', async () => {
  let runs = 0
  const task: PeriodicTask = {
    name: 'test.fails',
    everyMs: 30,
    run: async () => {
      if (++runs === 1) throw new Error('the first time')
    },
  }
  const ticker = new Ticker(parts(1), [task])
  await ticker.start()
  await expect.poll(() => runs).toBeGreaterThan(1)
  await ticker.stop()
  const [first, second] = await slots('test.fails')
  expect(first.problem).toContain('the first time')
  expect(second.problem).toBeNull()
})

test('J57 pain 20 the rescue belongs to every engine, cannot be paused, and tells its counts', async () => {
  await db.pool.query(
    `insert into job_schedule (name, every_ms, paused_at, paused_by) values ('jobs.rescue', 5000, now(), 'somebody')
     on conflict (name) do update set paused_at = now(), paused_by = 'somebody'`,
  )
  await engines.start([], { slot: 3 })
  await expect
    .poll(async () => (await slots('jobs.rescue')).map(({ result }) => result))
    .toContainEqual({ found: 0, processed: 0, skipped: 0, failed: 0 })
})

test('J50 J33 retention drops old weeks, keys, slots and batches, and keeps what failed', async () => {
  const job = testJob('test.retained')
  const [kept] = await enqueueNumbers(db, job, [1])
  // A week of ten weeks ago, with a job that failed and one that did not.
  await db.pool.query(`do $$ declare week timestamptz := date_trunc('week', now()) - interval '10 weeks'; begin
    execute format('create table %I partition of job_finished for values from (%L) to (%L)',
      'job_finished_' || to_char(week, 'IYYY"w"IW'), week, week + interval '1 week'); end $$`)
  await db.pool.query(
    `insert into job_finished (id, tenant_id, type, status, urgency, attempt, lost, claim_epoch, policy_id, created_at,
       finished_at, correlation_id, triggered_by, display_name, payload)
     select gen_random_uuid(), $1, 'test.retained', status, 0, 1, 0, 1, 0, now(),
       date_trunc('week', now()) - interval '10 weeks' + interval '1 day', 'c', 't', 'd', '{}'
     from unnest(array['FAILED', 'SUCCEEDED']) status`,
    [TENANT],
  )
  await db.pool.query(
    `insert into job_key values ($1, 'test.retained', 'gone', gen_random_uuid(), now() - interval '40 days'),
       ($1, 'test.retained', 'still', $2, now() - interval '40 days')`,
    [TENANT, kept],
  )
  await db.pool.query(
    `insert into job_schedule (name, every_ms, job_type) values ('test.spot', 1000, null), ('test.job', 1000, 'test.x')`,
  )
  await db.pool.query(
    `insert into job_slot (schedule, slot, job_id) values ('test.spot', now() - interval '2 hours', null),
       ('test.spot', now(), null), ('test.job', now() - interval '2 hours', gen_random_uuid()),
       ('test.job', now() - interval '40 days', gen_random_uuid()), ('test.job', now() - interval '41 days', $1)`,
    [kept],
  )
  await db.pool.query(
    `insert into job_batch (id, tenant_id, label, correlation_id, triggered_by, created_at)
     select gen_random_uuid(), $1, label, 'c', 't', now() - interval '40 days' from unnest(array['empty', 'used']) label`,
    [TENANT],
  )
  await db.pool.query(`update job set batch_id = (select id from job_batch where label = 'used') where id = $1`, [kept])

  const { job: run } = await runOwn('jobs.retention')
  expect(run).toMatchObject({
    status: 'SUCCEEDED',
    output: { forgotten: { keys: 1, slots: 2, batches: 1 }, postponed: [] },
  })
  const rows = async (sql: string) => (await db.pool.query(sql)).rows.map((row) => Object.values(row)[0])
  expect(await rows(`select status from job_finished where type = 'test.retained'`)).toEqual(['FAILED'])
  expect(await rows(`select key from job_key where type = 'test.retained'`)).toEqual(['still'])
  expect(await rows('select label from job_batch')).toEqual(['used'])
  expect(await rows(`select count(*)::int from job_slot where schedule like 'test.spot'`)).toEqual([1])
  // One as old as its job can be found, one whose job has not ended yet.
  expect(await rows(`select count(*)::int from job_slot where schedule like 'test.job'`)).toEqual([2])
})

test('J33 jobs that ended before their week had a partition move into it: an outage of weeks blocks nothing', async () => {
  const weeks = `array[date_trunc('week', now(), 'UTC'), date_trunc('week', now(), 'UTC') + interval '1 week']`
  await db.pool.query(`do $$ declare week timestamptz; begin
    foreach week in array ${weeks} loop
      execute format('drop table %I', 'job_finished_' || to_char(week at time zone 'UTC', 'IYYY"w"IW'));
    end loop; end $$`)
  const job = testJob('test.early')
  const [id] = await enqueueNumbers(db, job, [1])
  const { signals, engine } = await engines.start([job], { slot: 1 })
  await signals.first('ENDED', (signal) => signal.jobId === id)
  await engine.stop(500)
  const partitionOf = async () =>
    (await db.pool.query('select tableoid::regclass::text as name from job_finished where id = $1', [id])).rows[0].name
  expect(await partitionOf()).toBe('job_finished_default')
  await runOwn('jobs.retention')
  expect(await partitionOf()).toMatch(/^job_finished_\d{4}w\d{2}$/)
})

test('J56 J58 a log that cannot be looked after keeps no other, and is not passed over in silence', async () => {
  await db.pool.query(
    `insert into event_default (epoch, xid, tenant_id, subject_kind, subject_id, sequence, type, actor, correlation_id)
     select epoch, '1', $1, 'test', gen_random_uuid(), 1, 'test.late', 'system', 'c' from unnest(array[98, 99]) epoch`,
    [TENANT],
  )
  await db.pool.query(
    `insert into job_event_default (epoch, xid, job_id, tenant_id, type, attempt, claim_epoch, "from", "to", actor,
       correlation_id)
     select epoch, upper, gen_random_uuid(), $1, 'test.late', 1, 1, 'SCHEDULED', 'SCHEDULED', 'system', 'c'
     from event_log_partition where log = 'job_event' order by upper desc limit 1`,
    [TENANT],
  )
  const { waits } = await runOwn('events.partitions')
  expect(waits).toMatchObject({ status: 'RETRY_SCHEDULED', attempt: 1 })
  expect((await db.pool.query('select from job_event_default')).rowCount).toBe(0)
  await db.pool.query('delete from event_default')
})

test('the engine’s own work loads no Prisma: an idle thread stays small', async () => {
  for (const type of ['jobs.retention', 'events.partitions']) {
    const { job, database } = await runOwn(type)
    expect(job, type).toMatchObject({ status: 'SUCCEEDED' })
    expect(database.prismaLoaded, type).toBe(false)
  }
  const { database } = await engines.start([], { schedules: ENGINE_SCHEDULES })
  for (const task of ['jobs.rescue', ...WATCHING.map(({ name }) => name)])
    await expect
      .poll(async () => (await slots(task)).map(({ finished_at, problem }) => finished_at !== null && problem))
      .toContain(null)
  expect(database.prismaLoaded).toBe(false)
})

test('J53 what is gone already is not there to be deleted: a second run finds nothing to do', async () => {
  await runOwn('jobs.retention')
  const { job } = await runOwn('jobs.retention')
  expect(job).toMatchObject({
    status: 'SUCCEEDED',
    output: {
      made: [],
      dropped: [],
      forgotten: { keys: 0, slots: 0, batches: 0, rates: 0, breakers: 0 },
      postponed: [],
    },
  })
})

test('J97 the engine’s own schedules and what is done on the spot are there after start', async () => {
  await engines.start([], { schedules: ENGINE_SCHEDULES })
  const found = await readSchedules(db.database)
  const jobTypes = Object.fromEntries(found.map(({ name, jobType }) => [name, jobType]))
  expect(jobTypes).toMatchObject({
    'jobs.rescue': null,
    'jobs.counts': null,
    'jobs.alerts': null,
    'jobs.retention': 'jobs.retention',
    'events.partitions': 'events.partitions',
  })
  for (const { jobType, nextSlot, asOf } of found)
    if (jobType !== null && !jobType.startsWith('test.')) expect(nextSlot!.getTime()).toBeGreaterThan(asOf.getTime())
})
