import { expect, test } from 'vitest'
import type { EngineParts } from '../../src/jobs/engine/parts.ts'
import { Permits } from '../../src/jobs/engine/permits.ts'
import { JobRegistry } from '../../src/jobs/index.ts'
import { HOUSEKEEPING } from '../../src/jobs/periodic/maintenance.ts'
import { type PeriodicTask, Ticker } from '../../src/jobs/periodic/ticker.ts'
import { useDatabase } from '../harness/database.ts'
import { enqueueNumbers, range, silent, TENANT, testJob, useEngines } from './support.ts'

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
      'select slot, worker_id, finished_at, problem from job_slot where schedule = $1 order by slot',
      [schedule],
    )
  ).rows

test('J60 pain 24 six processes fire each slot once', async () => {
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

test('J20 slots that were missed are one firing', async () => {
  const started = counter()
  const task: PeriodicTask = { name: 'test.missed', everyMs: 3_600_000, run: async () => started.count() }
  await db.pool.query(`insert into job_schedule values ('test.missed', 3600000)`)
  await db.pool.query(
    `insert into job_slot (schedule, slot, worker_id) values ('test.missed', date_trunc('hour', now()) - interval '9 hours', gen_random_uuid())`,
  )
  const ticker = new Ticker(parts(1), [task])
  await ticker.start()
  await expect.poll(() => started.times).toBe(1)
  await ticker.stop()
  expect(await slots('test.missed')).toHaveLength(2)
})

test('J58 a task that fails says so on its slot, and the next slot tries again', async () => {
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

test('J33 pain 20 retention drops old weeks and keys, keeps what failed, and rescue belongs to every engine', async () => {
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
  for (const task of HOUSEKEEPING) await task.run(parts(1))
  const { rows } = await db.pool.query(`select status from job_finished where type = 'test.retained'`)
  expect(rows).toEqual([{ status: 'FAILED' }])
  const { rows: keys } = await db.pool.query(`select key from job_key where type = 'test.retained'`)
  expect(keys).toEqual([{ key: 'still' }])
  await engines.start([job], { slot: 3 })
  await expect.poll(async () => (await slots('jobs.rescue')).length).toBeGreaterThan(0)
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
  await signals.first('ENDED')
  await engine.stop(500)
  const partitionOf = async () =>
    (await db.pool.query('select tableoid::regclass::text as name from job_finished where id = $1', [id])).rows[0].name
  expect(await partitionOf()).toBe('job_finished_default')
  for (const task of HOUSEKEEPING) await task.run(parts(1))
  expect(await partitionOf()).toMatch(/^job_finished_\d{4}w\d{2}$/)
})

function counter() {
  return {
    times: 0,
    count() {
      this.times++
    },
  }
}
