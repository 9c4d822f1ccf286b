import { afterEach, expect, test } from 'vitest'
import { jobHints } from '../../src/jobs/host/index.ts'
import { type Jobs, type JobsOptions, startJobs } from '../../src/jobs/index.ts'
import { useDatabase } from '../harness/database.ts'
import { noopJob } from './fixtures/definitions.ts'
import { enqueueNumbers, finished, silent } from './support.ts'
import { DEFINITIONS, useEffects, useProcesses } from './threads-support.ts'

const db = useDatabase()
useEffects(db)
const processes = useProcesses(db)

/** So long that only a hint can end it. */
const UNTIL_TOLD = [3_600_000, 3_600_000] as const

const running: Jobs[] = []
afterEach(async () => {
  for (const jobs of running.splice(0)) await jobs.stop(1_000)
})

async function host(options: Partial<JobsOptions>): Promise<Jobs> {
  const jobs = await startJobs({
    databaseUrl: db.url,
    preparedStatements: true,
    threads: 1,
    definitionsModule: DEFINITIONS,
    logger: silent,
    ...options,
  })
  running.push(jobs)
  return jobs
}

/** What was waiting at the start has run: from now on the engines do not look by themselves. */
async function settled(start: () => Promise<unknown>): Promise<void> {
  const [id] = await enqueueNumbers(db, noopJob, [1])
  await start()
  await hasRun(id!)
}

const hasRun = (id: string) =>
  expect.poll(() => finished(db, id), { timeout: 10_000 }).toMatchObject({ status: 'SUCCEEDED' })

const listeners = async (): Promise<number[]> => {
  const { rows } = await db.pool.query(`select pid from pg_stat_activity
    where datname = current_database() and application_name = 'regie leases' and query = 'listen regie_job'`)
  return rows.map(({ pid }) => pid)
}

test('idea 17 a job that another process enqueued begins at once, without a poll', async () => {
  await settled(() => processes.start({ threads: 1, leaseMs: 60_000, notify: true, pausesMs: UNTIL_TOLD }))
  const hints = jobHints(db.pool)
  for (const n of [2, 3, 4]) {
    const [id] = await enqueueNumbers(db, noopJob, [n])
    hints.announce()
    await hasRun(id!)
  }
})

test('idea 17 a process with threads of its own tells the others too', async () => {
  await settled(() => host({ notify: true, pausesMs: UNTIL_TOLD }))
  const enqueuing = await host({ threads: 0, notify: true })
  const [id] = await enqueueNumbers(db, noopJob, [2])
  enqueuing.wake()
  await hasRun(id!)
})

test('pain 3 a listening connection that is cut is replaced, and what was said meanwhile is looked for', async () => {
  await settled(() => host({ notify: true, pausesMs: UNTIL_TOLD }))
  const [cut] = await listeners()
  await db.pool.query('select pg_terminate_backend($1)', [cut])
  const [id] = await enqueueNumbers(db, noopJob, [2])
  await hasRun(id!)
  const [pid, ...more] = await listeners()
  expect(more).toEqual([])
  expect(pid).not.toBe(cut)
  const [next] = await enqueueNumbers(db, noopJob, [3])
  jobHints(db.pool).announce()
  await hasRun(next!)
})

test('pain 3 without any hint, polling finds every job; nothing listens behind a pooler', async () => {
  await settled(() => host({}))
  expect(await listeners()).toEqual([])
  const [id] = await enqueueNumbers(db, noopJob, [2])
  await hasRun(id!)
})
