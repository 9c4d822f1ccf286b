import { expect } from 'vitest'
import { enqueueMany, startJobs } from '../../src/jobs/index.ts'
import type { TestDatabase } from '../harness/database.ts'
import { effectJob, noopJob } from './fixtures/definitions.ts'
import { range, TENANT } from './support.ts'
import { DEFINITIONS, type useEffects } from './threads-support.ts'

const BATCH = 1_000
/** Most jobs that wait at once: what the hot table is made for. */
const MOST_WAITING = 20_000
const TENANTS = 20
/** One in so many writes a row in the transaction that ends it. */
const EFFECT_EVERY = 100

/**
 * The smallest thing that can be forgotten per job, an entry of a map with its key, takes some eighty bytes; what
 * remains in memory grows by less, or something is.
 */
const LEAK_BYTES = 80
/** How far two readings lie apart by chance: each thread's heap is collected when it has grown by about so much. */
const NOISE_BYTES = 48 * 2 ** 20
/** Pages of the hot table and its indexes with room for the most that wait, four times over for versions not vacuumed yet. */
const LARGEST_HOT_TABLE = 4 * MOST_WAITING * 1_000

interface Reading {
  readonly jobs: number
  readonly rss: number
}

/** Runs so many jobs through real threads; prints what is left of them in memory and on disk. */
export async function soak(
  db: TestDatabase,
  effects: ReturnType<typeof useEffects>,
  size: { readonly jobs: number; readonly readEvery: number },
): Promise<void> {
  const problems: string[] = []
  const jobs = await startJobs({
    databaseUrl: db.url,
    preparedStatements: true,
    threads: 2,
    definitionsModule: DEFINITIONS,
    logger: { info() {}, warn: (_, message) => problems.push(message), error: (_, message) => problems.push(message) },
  })
  const readings: Reading[] = []
  try {
    for (let enqueued = 0; enqueued < size.jobs; enqueued += BATCH) {
      await enqueueBatch(db, enqueued)
      jobs.wake()
      await expect.poll(effects.left, { timeout: 60_000, interval: 5 }).toBeLessThan(MOST_WAITING)
      if ((enqueued + BATCH) % size.readEvery === 0)
        readings.push({ jobs: enqueued + BATCH, rss: process.memoryUsage().rss })
    }
    await expect.poll(effects.left, { timeout: 120_000, interval: 50 }).toBe(0)
  } finally {
    await jobs.stop(10_000)
  }
  await expectNothingLost(db, effects, size.jobs)
  expect(problems).toEqual([])
  const hot = await printSizes(db, size.jobs)
  expect(hot).toBeLessThan(LARGEST_HOT_TABLE)
  expectNoLeak(readings)
}

async function enqueueBatch(db: TestDatabase, first: number): Promise<void> {
  const numbers = range(BATCH).map((n) => first + n)
  const request = (n: number) => ({
    tenantId: `0193a000-0000-7000-8000-${String(n % TENANTS).padStart(12, '0')}`,
    payload: { n },
    correlationId: `soak-${n}`,
    triggeredBy: 'tester',
  })
  const ofEffect = (n: number) => n % EFFECT_EVERY === 0
  await enqueueMany(
    db.database,
    effectJob,
    numbers.filter(ofEffect).map((n) => ({ ...request(n), tenantId: TENANT })),
  )
  await enqueueMany(db.database, noopJob, numbers.filter((n) => !ofEffect(n)).map(request))
}

async function expectNothingLost(
  db: TestDatabase,
  effects: ReturnType<typeof useEffects>,
  jobs: number,
): Promise<void> {
  const { rows } = await db.pool.query(
    `select status, count(*)::int as n, count(distinct id)::int as jobs, sum(attempt)::int as attempts
     from job_finished where correlation_id like 'soak-%' group by 1`,
  )
  expect(rows).toEqual([{ status: 'SUCCEEDED', n: jobs, jobs, attempts: jobs }])
  const { rows: events } = await db.pool.query(
    `select "to", count(*)::int as n from job_event where correlation_id like 'soak-%' and "to" <> 'SCHEDULED' group by 1`,
  )
  expect(events).toEqual([{ to: 'SUCCEEDED', n: jobs }])
  const { rows: done } = await db.pool.query('select count(*)::int as n, sum(times)::int as times from effect')
  expect(done).toEqual([{ n: jobs / EFFECT_EVERY, times: jobs / EFFECT_EVERY }])
  expect(await effects.double()).toEqual([])
}

/** Answers with the size of the hot table, its indexes included. */
async function printSizes(db: TestDatabase, jobs: number): Promise<number> {
  await db.pool.query('select pg_stat_force_next_flush()')
  const { rows } = await db.pool.query(
    `select coalesce(parent.relname, c.relname) as name, sum(pg_table_size(c.oid))::float8 as heap,
       sum(pg_indexes_size(c.oid))::float8 as indexes, sum(pg_stat_get_dead_tuples(c.oid))::float8 as dead
     from pg_class c left join pg_inherits i on i.inhrelid = c.oid left join pg_class parent on parent.oid = i.inhparent
     where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace and c.relname ~ '^job' group by 1 order by 2 desc`,
  )
  const kept = rows.filter(({ name }) => name === 'job_finished' || name === 'job_event')
  const bytes = kept.reduce((sum, { heap, indexes }) => sum + heap + indexes, 0)
  console.log(
    [
      ...rows
        .filter(({ heap }) => heap > 64 * 1024)
        .map((row) => `${row.name}: ${mb(row.heap)} MB, indexes ${mb(row.indexes)} MB, ${row.dead} dead rows`),
      `${Math.round(bytes / jobs)} bytes on disk per finished job with its attempt`,
    ].join('\n'),
  )
  const job = rows.find(({ name }) => name === 'job')
  return job.heap + job.indexes
}

/** Compares the last third of what was read after the first fifth, in which caches fill, with the first third. */
function expectNoLeak(readings: readonly Reading[]): void {
  const warm = readings.slice(Math.ceil(readings.length / 5))
  const third = Math.floor(warm.length / 3)
  const [early, late] = [warm.slice(0, third), warm.slice(-third)].map(
    (part) => part.toSorted((a, b) => a.rss - b.rss)[Math.floor(part.length / 2)],
  )
  console.log(readings.map(({ jobs, rss }) => `after ${jobs} jobs ${mb(rss)} MB`).join('\n'))
  if (early === undefined || late === undefined) throw new Error('Too few readings to tell a leak.')
  const between = late.jobs - early.jobs
  console.log(`memory: ${(((late.rss - early.rss) / between) * 1e5) / 2 ** 20} MB per 100,000 jobs`)
  expect(late.rss - early.rss).toBeLessThan(LEAK_BYTES * Math.abs(between) + NOISE_BYTES)
}

const mb = (bytes: number): string => (bytes / 2 ** 20).toFixed(1)
