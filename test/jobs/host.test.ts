import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { StartupError } from '../../src/database/index.ts'
import { type Jobs, type JobsOptions, startJobs } from '../../src/jobs/index.ts'
import { useDatabase } from '../harness/database.ts'
import { carelessJob, crashingJob, deafJob, effectJob, hangingJob, noopJob } from './fixtures/definitions.ts'
import { enqueueNumbers, finished, range, testJob, waiting } from './support.ts'
import { DEFINITIONS, DIST, useEffects } from './threads-support.ts'

const db = useDatabase()
const effects = useEffects(db)

const running: Jobs[] = []
afterEach(async () => {
  for (const jobs of running.splice(0)) await jobs.stop(1_000)
})

async function host(options: Partial<JobsOptions> = {}) {
  const log: { level: string; message: string; fields: object }[] = []
  const say = (level: string) => (fields: object, message: string) => void log.push({ level, fields, message })
  const jobs = await startJobs({
    databaseUrl: db.url,
    preparedStatements: true,
    threads: 1,
    definitionsModule: DEFINITIONS,
    logger: { info: say('info'), warn: say('warn'), error: say('error') },
    leaseMs: 60_000,
    ...options,
  })
  running.push(jobs)
  return { jobs, log }
}

const ended = (id: string) => expect.poll(() => finished(db, id), { timeout: 15_000 })

test('J02 threads run jobs, tell of commits, and stop by themselves with code 0 (pitfalls 1, 3, 6, 7, 10)', async () => {
  let commits = 0
  const { jobs, log } = await host({ threads: 2, onCommitted: () => void commits++ })
  expect(jobs.stats().threads).toMatchObject([{ state: 'RUNNING' }, { state: 'RUNNING' }])
  const ids = await enqueueNumbers(db, effectJob, range(5))
  jobs.wake()
  for (const id of ids) await ended(id).toMatchObject({ status: 'SUCCEEDED' })
  await expect.poll(() => commits).toBeGreaterThan(0)
  await jobs.stop(5_000)
  expect(log.filter(({ level }) => level !== 'info')).toEqual([])
  expect(jobs.stats().threads.every(({ state, restarts }) => state === 'STOPPED' && restarts === 0)).toBe(true)
  expect((await db.pool.query('select * from job_worker')).rows).toEqual([])
})

test('J63 a thread that crashes is started again under a new worker id, and its jobs end once (pitfalls 4, 5, 12)', async () => {
  const { jobs, log } = await host()
  const [before] = (await db.pool.query('select id from job_worker')).rows
  const [id] = await enqueueNumbers(db, crashingJob, [100])
  jobs.wake()
  // With a lease of a minute: what the dead thread held is free because its end was seen.
  await ended(id!).toMatchObject({ status: 'SUCCEEDED', attempt: 2 })
  expect(await effects.of([100])).toEqual([{ n: 100, status: 'SUCCEEDED', times: 1 }])
  const [after] = (await db.pool.query('select id from job_worker')).rows
  expect(after.id).not.toBe(before.id)
  expect(jobs.stats().threads).toMatchObject([{ state: 'RUNNING', restarts: 1 }])
  expect(log.filter(({ message }) => message === 'A worker thread crashed.')).toHaveLength(1)
})

test('J63 a thread that hangs is killed and its place started again (pitfalls 2, 17)', async () => {
  const { jobs, log } = await host({ stallMs: 1_500 })
  const [id] = await enqueueNumbers(db, hangingJob, [101])
  jobs.wake()
  await ended(id!).toMatchObject({ status: 'SUCCEEDED', attempt: 2 })
  expect(await effects.of([101])).toEqual([{ n: 101, status: 'SUCCEEDED', times: 1 }])
  expect(log.some(({ message }) => message.startsWith('A worker thread stands still'))).toBe(true)
  const { rows } = await db.pool.query('select failure_class from job_event where job_id = $1 order by id', [id])
  expect(rows).toEqual([{ failure_class: 'LOST' }, { failure_class: null }])
})

test('a promise that a handler leaves behind ends neither its job nor the thread', async () => {
  const { jobs, log } = await host()
  const [id] = await enqueueNumbers(db, carelessJob, [102])
  jobs.wake()
  await ended(id!).toMatchObject({ status: 'SUCCEEDED', attempt: 1 })
  await expect.poll(() => log.some(({ message }) => message.includes('rejected promise'))).toBe(true)
  expect(jobs.stats().threads).toMatchObject([{ restarts: 0 }])
})

test('stopping has its own deadline: a deaf handler’s job goes back, no attempt spent (pitfall 1)', async () => {
  const { jobs } = await host()
  const [id] = await enqueueNumbers(db, deafJob, [103])
  jobs.wake()
  await expect.poll(() => waiting(db, id!)).toMatchObject({ status: 'PROCESSING' })
  const started = performance.now()
  await jobs.stop(2_000)
  expect(performance.now() - started).toBeLessThan(5_000)
  // The handler sits in its transaction with the job's row locked until the thread is gone; then either the
  // thread has given it back, or its removed lease makes it free.
  const row = await waiting(db, id!)
  if (row!.status === 'PROCESSING')
    expect((await db.pool.query('select * from job_worker where id = $1', [row!.worker_id])).rows).toEqual([])
  else expect(row).toMatchObject({ status: 'SCHEDULED', attempt: 0 })
  await db.pool.query('delete from job where id = $1', [id])
})

test('J06 a job that was waiting while nobody ran is found at start', async () => {
  const [id] = await enqueueNumbers(db, noopJob, [104])
  await host()
  await ended(id!).toMatchObject({ status: 'SUCCEEDED' })
})

test('J22 J25 start-up refuses wrong definitions, with every reason', async () => {
  const error = await host({ definitionsModule: join(DIST, 'test/jobs/fixtures/wrong-definitions.js') }).catch(
    (e: unknown) => e,
  )
  expect(error).toBeInstanceOf(StartupError)
  expect(String(error)).toMatch(/does not say why a second run does no harm/)
  expect(String(error)).toMatch(/9 attempts where the class FOLLOW_UP has 3/)
  expect(String(error)).toMatch(/another job has this type too/)
})

test('start-up refuses a database that is away, in one sentence', async () => {
  const away = db.url.replace(/:(\d+)\//, ':1/')
  await expect(host({ databaseUrl: away })).rejects.toBeInstanceOf(StartupError)
})

test('fact 8 a type that nobody knows shows in the statistics', async () => {
  const [id] = await enqueueNumbers(db, testJob('fixture.of_tomorrow'), [1])
  const { jobs } = await host()
  await expect.poll(() => jobs.stats().unknownTypes).toEqual([{ type: 'fixture.of_tomorrow', waiting: 1 }])
  expect(await waiting(db, id!)).toMatchObject({ status: 'SCHEDULED', attempt: 0 })
})

test('no threads: a process that only enqueues needs nothing and stops at once', async () => {
  const { jobs } = await host({ threads: 0 })
  jobs.wake()
  expect(jobs.stats()).toEqual({ threads: [], unknownTypes: [] })
  await jobs.stop()
})
