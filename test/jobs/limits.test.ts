import { afterEach, expect, test } from 'vitest'
import { type AnyJobDefinition, type JobDefinition, JobRegistry, succeeded } from '../../src/jobs/index.ts'
import { useDatabase } from '../harness/database.ts'
import { claimerOf, declare, endAll, tenant } from './gates-support.ts'
import { enqueueNumbers, range, testJob, useEngines } from './support.ts'

const db = useDatabase()
const engines = useEngines(db)

afterEach(() => db.pool.query('delete from job'))

/** A job that is at work for a few turns of the event loop, and how many were, at most, at the same time. */
function crowded(type: string, limits: JobDefinition<{ n: number }>['limits'], keyOf: (n: number) => number = () => 0) {
  const now = new Map<number, number>()
  const most = new Map<number, number>()
  const job = testJob(type, {
    limits: limits!,
    run: async ({ n }) => {
      const key = keyOf(n)
      now.set(key, (now.get(key) ?? 0) + 1)
      most.set(key, Math.max(most.get(key) ?? 0, now.get(key)!))
      // A round trip to the database takes longer than a claim of another engine.
      await db.pool.query('select from job where type = $1', [type])
      now.set(key, now.get(key)! - 1)
      return succeeded()
    },
  })
  return { job, most }
}

async function runWithFour(job: AnyJobDefinition, jobs: number): Promise<number[]> {
  const four = await Promise.all(range(4).map((slot) => engines.start([job], { slot })))
  const ended = () => four.map(({ signals }) => signals.of('ENDED').length)
  await expect.poll(() => ended().reduce((sum, count) => sum + count), { timeout: 25_000 }).toBe(jobs)
  return ended()
}

test('J59 J60 one global run: with a limit of one, four engines never run two at once', async () => {
  const { job, most } = crowded('test.one_at_a_time', { running: 1 })
  await declare(db, job)
  await enqueueNumbers(db, job, range(60), (n) => ({ tenantId: tenant(n % 5) }))
  await runWithFour(job, 60)
  expect(most.get(0)).toBe(1)
}, 30_000)

test('J61 pain 42 a limit per tenant holds over four engines, and is used', async () => {
  const { job, most } = crowded('test.three_per_tenant', { runningPerTenant: 3 }, (n) => n % 4)
  await declare(db, job)
  await enqueueNumbers(db, job, range(160), (n) => ({ tenantId: tenant(n % 4) }))
  await runWithFour(job, 160)
  for (const of of most.values()) expect(of).toBeLessThanOrEqual(3)
  expect(Math.max(...most.values())).toBe(3)
}, 30_000)

test('pain 42 twelve claims that start together do not overshoot, whatever they saw', async () => {
  const job = testJob('test.race_of_claims', { limits: { running: 5 } })
  await declare(db, job)
  await enqueueNumbers(db, job, range(100), (n) => ({ tenantId: tenant(n % 10) }))
  const claimers = await Promise.all(range(12).map(() => claimerOf(db, [job])))
  for (let round = 0; round < 10; round++) {
    const taken = (await Promise.all(claimers.map(({ claim }) => claim(4)))).flat()
    expect(taken.length).toBeLessThanOrEqual(5)
    expect(taken.length).toBeGreaterThan(0)
    await endAll(
      db,
      taken.map(({ id }) => id),
    )
  }
})

test('pain 33 what runs is counted, not stored: a dead worker’s jobs make room when they are rescued', async () => {
  const job = testJob('test.counted_room', { limits: { running: 2 } })
  await declare(db, job)
  const ids = await enqueueNumbers(db, job, range(4))
  const { claim } = await claimerOf(db, [job])
  expect(await claim(4)).toHaveLength(2)
  expect(await claim(4)).toHaveLength(0)
  await db.pool.query(
    `update job set status = 'RETRY_SCHEDULED', worker_id = null, lost = 1, due = now() + interval '1 hour'
     where id = any($1) and worker_id is not null`,
    [ids],
  )
  expect(await claim(4)).toHaveLength(2)
})

test('pain 41 a whale at its cap keeps neither other tenants nor its own other types waiting', async () => {
  const capped = testJob('test.whale', { limits: { runningPerTenant: 1 } })
  const free = testJob('test.free')
  await declare(db, capped, free)
  await enqueueNumbers(db, capped, range(500), { tenantId: tenant(1) })
  const { claim, claimer, statements } = await claimerOf(db, [capped, free])
  expect(await claim(4)).toHaveLength(1)
  const others = await enqueueNumbers(db, capped, range(3), (n) => ({ tenantId: tenant(2 + n) }))
  const own = await enqueueNumbers(db, free, range(20), { tenantId: tenant(1) })
  claimer.hint()
  const taken = [...(await claim(30)), ...(await claim(30))].map(({ id }) => id)
  expect(taken.toSorted()).toEqual([...others, ...own].toSorted())
  // Due, and yet nothing to claim: said after a few statements, not asked for ever.
  claimer.hint()
  const before = statements()
  expect(await claim(30)).toEqual([])
  expect(statements() - before).toBeLessThanOrEqual(4)
})

test('pain 7 a claim costs by what it takes, not by the number of tenants', async () => {
  const job = testJob('test.many_tenants', {
    limits: { runningPerTenant: 1, ratePerTenant: { jobs: 5, perMs: 60_000 } },
  })
  await declare(db, job)
  await enqueueNumbers(db, job, range(1_500), (n) => ({ tenantId: tenant(n) }))
  const { claim, workerId } = await claimerOf(db, [job])
  const claimed = [...(await claim(10)), ...(await claim(10))].map(({ tenantId }) => tenantId)
  expect(new Set(claimed).size).toBe(20)
  expect((await db.pool.query('select from job_rate where type = $1', [job.type])).rowCount).toBe(20)
  const buffers = async (lanes: number) => {
    const client = await db.pool.connect()
    await client.query('begin')
    const { rows } = await client.query(
      `explain (analyze, buffers, format json) select * from job_claim_gated($1, 1::smallint, $2::uuid[],
         array_fill(0::smallint, array[$3::int]), array_fill('-infinity'::timestamptz, array[$3::int]), 10, 1, $4, false)`,
      [job.type, range(lanes).map((n) => tenant(100 + n)), lanes, workerId],
    )
    await client.query('rollback')
    client.release()
    return rows[0]['QUERY PLAN'][0].Plan['Shared Hit Blocks'] as number
  }
  await buffers(10)
  const few = await buffers(10)
  expect(few).toBeGreaterThan(50)
  expect(await buffers(500)).toBeLessThan(few * 1.2)
})

test('a limited type leaves half of what is free to others, and is not kept waiting by them', async () => {
  const limited = testJob('test.limited_beside', { limits: { running: 100 } })
  const plain = testJob('test.plain_beside')
  await declare(db, limited, plain)
  await enqueueNumbers(db, limited, range(50))
  await enqueueNumbers(db, plain, range(500), { tenantId: tenant(3) })
  const { claimer } = await claimerOf(db, [limited, plain])
  const first = await claimer.claim({ jobs: 40, atOnce: 8 })
  expect([first.gated.length, first.jobs.length]).toEqual([4, 36])
  // All slots at work and a queue of others: still one, to begin as soon as a slot is free.
  const busy = await claimer.claim({ jobs: 40, atOnce: 1 })
  expect([busy.gated.length, busy.jobs.length]).toEqual([1, 39])
})

test('J61 a rate holds by the database’s clock over any window, with four engines, and is used', async () => {
  const rate = { jobs: 10, perMs: 500 }
  const job = testJob('test.rate', { limits: { ratePerTenant: rate } })
  await declare(db, job)
  await enqueueNumbers(db, job, range(60), (n) => ({ tenantId: tenant(n % 2) }))
  const claimers = await Promise.all(range(4).map(() => claimerOf(db, [job])))
  const total = async () =>
    (await db.pool.query('select count(*)::int as n from job where worker_id is not null')).rows[0].n
  const poll = async () => {
    await Promise.all(claimers.map(({ claim }) => claim(8)))
    return total()
  }
  await expect.poll(poll, { interval: 5, timeout: 20_000 }).toBe(60)
  for (const of of [0, 1]) {
    const { rows } = await db.pool.query(
      `select extract(epoch from claimed_at)::float8 * 1000 as at from job where tenant_id = $1 order by claimed_at`,
      [tenant(of)],
    )
    const times = rows.map(({ at }) => at as number)
    for (const [i, from] of times.entries())
      for (const [j, to] of times.entries())
        if (j >= i) expect(j - i + 1).toBeLessThanOrEqual(rate.jobs + ((to - from + 2) * rate.jobs) / rate.perMs)
    // 30 jobs: ten at once, twenty more at twenty per second.
    expect(times.at(-1)! - times[0]!).toBeLessThan(3_000)
  }
}, 30_000)

test('a tenant whose rate is used up is looked at again when it allows the next one, not all the time', async () => {
  const job = testJob('test.slow_rate', { limits: { ratePerTenant: { jobs: 1, perMs: 3_600_000 } } })
  await declare(db, job)
  await enqueueNumbers(db, job, range(2))
  const { claim, claimer, statements } = await claimerOf(db, [job])
  expect(await claim(4)).toHaveLength(1)
  const before = statements()
  const { nextDueInMs } = await claimer.claim({ jobs: 4, atOnce: 4 })
  expect(nextDueInMs).toBeGreaterThan(3_500_000)
  // Only looks: the lane is not due.
  expect(statements() - before).toBeLessThanOrEqual(2)
})

test('J59 limits and breakers that mean nothing are refused before anything starts, all at once', () => {
  const wrong = testJob('test.wrong_gates', {
    limits: { running: 0, runningPerTenant: 1.5, ratePerTenant: { jobs: 3, perMs: -1 } },
    breaker: { failures: 0 },
  })
  const nameless = testJob('test.nameless_service', { dependency: ' ' })
  const start = () => new JobRegistry([wrong, nameless])
  for (const said of [
    /wrong_gates: limits\.running is 0;/,
    /limits\.runningPerTenant is 1\.5;/,
    /limits\.ratePerTenant\.perMs is -1;/,
    /breaker\.failures is 0;/,
    /breaker options but no dependency/,
    /nameless_service: its dependency has no name/,
  ])
    expect(start).toThrow(said)
  expect(start).not.toThrow(/ratePerTenant\.jobs/)
})
