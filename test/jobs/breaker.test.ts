import { afterEach, expect, test } from 'vitest'
import { Failure } from '../../src/errors/index.ts'
import { type JobDefinition, succeeded } from '../../src/jobs/index.ts'
import { useDatabase } from '../harness/database.ts'
import { claimerOf, declare, tenant } from './gates-support.ts'
import { enqueueNumbers, finished, gate, lapse, makeDue, range, testJob, useEngines, waiting } from './support.ts'

/** What another thread of events does, whenever the machine gets to it. */
const SOON = { timeout: 15_000 }

const db = useDatabase()
const engines = useEngines(db)

afterEach(() => db.pool.query('delete from job; delete from job_breaker'))

/** A service outside, and a job type that calls it. */
function service(type: string, own: Partial<JobDefinition<{ n: number }>> = {}) {
  const calls: number[] = []
  const outside = { answer: async (_n: number): Promise<void> => {} }
  const job = testJob(type, {
    dependency: 'the service',
    policy: { maxAttempts: 3, delaysMs: [3_600_000] },
    run: async ({ n }) => {
      calls.push(n)
      await outside.answer(n)
      return succeeded()
    },
    ...own,
  })
  const away = async () => {
    throw new Failure('TRANSIENT', 'service.away', 'The service is away.')
  }
  return { job, calls, outside, away }
}

const breaker = async (type: string, dependency = 'the service') =>
  (
    await db.pool.query(
      `select state, failures, trips, probe_job_id, round(extract(epoch from open_until - changed_at) * 10)::int * 100 as open_ms
       from job_breaker where type = $1 and dependency = $2`,
      [type, dependency],
    )
  ).rows[0] as
    | { state: string; failures: number; trips: number; probe_job_id: string | null; open_ms: number | null }
    | undefined

/** The pause of an open breaker is over: tests move the column, not a clock. */
const pauseIsOver = (type: string) =>
  db.pool.query(
    `update job_breaker set open_until = now(), probe_until = now() where type = $1 and state <> 'CLOSED'`,
    [type],
  )

const events = async (type: string) =>
  (
    await db.pool.query(
      `select e.type, e.data, e.sequence, e.reason from event e join job_type t on t.id = e.subject_id
       where t.type = $1 and subject_kind = 'job_type' order by sequence`,
      [type],
    )
  ).rows as { type: string; data: Record<string, unknown>; sequence: number; reason: string | null }[]

test('idea 6 failures in a row over two processes open it; what waits spends no attempt and calls nothing', async () => {
  const { job, calls, outside, away } = service('test.opens', { breaker: { failures: 4 } })
  outside.answer = away
  await declare(db, job)
  await enqueueNumbers(db, job, range(4))
  const two = await Promise.all([engines.start([job], { concurrency: 1 }), engines.start([job], { concurrency: 1 })])
  await expect
    .poll(() => breaker(job.type), SOON)
    .toMatchObject({ state: 'OPEN', failures: 4, trips: 1, open_ms: 30_000 })
  expect(calls.toSorted()).toEqual([0, 1, 2, 3])
  const later = await enqueueNumbers(db, job, range(20))
  const { signals, engine } = two[0]
  const before = signals.of('IDLE').length
  engine.wake()
  await expect.poll(() => signals.of('IDLE').length, SOON).toBeGreaterThan(before)
  for (const id of later) expect(await waiting(db, id)).toMatchObject({ status: 'SCHEDULED', attempt: 0 })
  expect(calls).toHaveLength(4)
  expect(await events(job.type)).toMatchObject([
    {
      type: 'job.breaker.opened',
      sequence: 1,
      reason: 'service.away',
      data: { type: job.type, dependency: 'the service', failures: 4, trips: 1 },
    },
  ])
})

test('a success between failures begins the count anew, and failures that are the job’s own do not count', async () => {
  const { job, outside, away } = service('test.resets', { breaker: { failures: 3 } })
  const permanent = async () => {
    throw new Failure('PERMANENT', 'service.no', 'No such mailbox.')
  }
  await declare(db, job)
  const { signals } = await engines.start([job], { concurrency: 1 })
  let ended = 0
  for (const answer of [away, away, async () => {}, away, permanent, away]) {
    outside.answer = answer
    await enqueueNumbers(db, job, [1])
    await signals.ended(++ended)
    // The count is written beside the ending.
    const failures = [1, 2, 0, 1, 1, 2][ended - 1]
    await expect.poll(async () => (await breaker(job.type))!.failures, SOON).toBe(failures)
  }
  expect(await breaker(job.type)).toMatchObject({ state: 'CLOSED' })
})

test('a type without a dependency and a service that was never away write nothing', async () => {
  const independent = testJob('test.independent', {
    run: async () => {
      throw new Failure('TRANSIENT', 'test.fails', 'It fails.')
    },
  })
  const { job } = service('test.well')
  await declare(db, independent, job)
  await enqueueNumbers(db, independent, range(10))
  await enqueueNumbers(db, job, range(10))
  const { signals } = await engines.start([independent, job])
  await signals.ended(20)
  expect((await db.pool.query('select from job_breaker')).rowCount).toBe(0)
})

test('when the pause is over exactly one job tries, over three engines; its success sets the others going', async () => {
  const { job, calls, outside, away } = service('test.probe', { breaker: { failures: 1 } })
  outside.answer = away
  await declare(db, job)
  await enqueueNumbers(db, job, [0])
  await Promise.all(range(3).map(() => engines.start([job])))
  await expect.poll(() => breaker(job.type), SOON).toMatchObject({ state: 'OPEN' })
  const ids = await enqueueNumbers(db, job, range(30), (n) => ({ tenantId: tenant(n % 7) }))
  const go = gate()
  outside.answer = () => go.promise
  await pauseIsOver(job.type)
  await expect.poll(() => calls.length, SOON).toBe(2)
  const probing = (await breaker(job.type))!
  expect(probing.state).toBe('HALF_OPEN')
  expect(ids).toContain(probing.probe_job_id)
  // The one that opened it may still be writing down its own end.
  const running = await db.pool.query('select id from job where worker_id is not null and id = any($1)', [ids])
  expect(running.rows).toEqual([{ id: probing.probe_job_id }])
  go.open()
  await expect
    .poll(async () => (await db.pool.query('select from job_finished where id = any($1)', [ids])).rowCount, {
      timeout: 8_000,
    })
    .toBe(30)
  expect(await breaker(job.type)).toMatchObject({ state: 'CLOSED', failures: 0, trips: 0 })
  expect((await events(job.type)).map(({ type }) => type)).toEqual(['job.breaker.opened', 'job.breaker.closed'])
  for (const id of ids) expect(await finished(db, id)).toMatchObject({ status: 'SUCCEEDED', attempt: 1 })
})

test('each failed probe doubles the pause, up to the longest; a longer Retry-After counts instead', async () => {
  const { job, calls, outside, away } = service('test.doubles', {
    breaker: { failures: 1, openMs: 10_000, longestOpenMs: 30_000 },
  })
  // One job for each try: those that fail wait for an hour.
  const tries = async (trips: number, openMs: number) => {
    await pauseIsOver(job.type)
    await enqueueNumbers(db, job, [trips])
    await expect.poll(() => breaker(job.type), SOON).toMatchObject({ state: 'OPEN', trips, open_ms: openMs })
  }
  outside.answer = away
  await declare(db, job)
  await engines.start([job])
  for (const [again, openMs] of [10_000, 20_000, 30_000].entries()) await tries(again + 1, openMs)
  outside.answer = async () => {
    throw new Failure('THROTTLED', 'service.busy', 'Later.', { retryAfterMs: 90_000 })
  }
  await tries(4, 90_000)
  expect(calls).toEqual([1, 2, 3, 4])
}, 40_000)

test('a probe whose worker dies holds up nobody for longer than its time-out and a lease', async () => {
  const { job, calls } = service('test.dead_probe', { timeoutMs: 40_000 })
  await declare(db, job)
  const ids = await enqueueNumbers(db, job, range(3))
  await db.pool.query(
    `insert into job_breaker (type, dependency, state, trips, open_until) values ($1, 'the service', 'OPEN', 1, now())`,
    [job.type],
  )
  const dead = await claimerOf(db, [job])
  const [probe] = await dead.claim(10)
  expect(await dead.claim(10)).toEqual([])
  const { rows } = await db.pool.query(
    `select probe_job_id, extract(epoch from probe_until - now())::float8 as seconds from job_breaker`,
  )
  expect(rows[0].probe_job_id).toBe(probe!.id)
  expect(Math.abs(rows[0].seconds - 55)).toBeLessThan(5)
  await pauseIsOver(job.type)
  await engines.start([job])
  await expect.poll(() => calls.length, SOON).toBe(2)
  expect(await breaker(job.type)).toMatchObject({ state: 'CLOSED' })
  for (const id of ids.filter((each) => each !== probe!.id))
    await expect.poll(() => finished(db, id), SOON).toMatchObject({ status: 'SUCCEEDED' })
  expect(await waiting(db, probe!.id)).toMatchObject({ status: 'PROCESSING' })
})

test('a probe whose worker was found dead is followed by the next one, however long it might have run', async () => {
  const { job, calls } = service('test.lost_probe', { timeoutMs: 3_600_000 })
  await declare(db, job)
  await enqueueNumbers(db, job, range(3))
  await db.pool.query(
    `insert into job_breaker (type, dependency, state, trips, open_until) values ($1, 'the service', 'OPEN', 1, now())`,
    [job.type],
  )
  const dead = await claimerOf(db, [job])
  expect(await dead.claim(10)).toHaveLength(1)
  await engines.start([job], { leaseMs: 300 })
  await lapse(db, dead.workerId)
  await expect.poll(() => calls.length, SOON).toBe(2)
  await expect.poll(() => breaker(job.type), SOON).toMatchObject({ state: 'CLOSED' })
})

test('a probe that says nothing of the service lets the next one try at once', async () => {
  const { job, calls, outside } = service('test.no_proof')
  outside.answer = async (n) => {
    if (n === 0) throw new Failure('PERMANENT', 'domain.gone', 'It is gone.')
  }
  await declare(db, job)
  await db.pool.query(
    `insert into job_breaker (type, dependency, state, trips, open_until) values ($1, 'the service', 'OPEN', 1, now())`,
    [job.type],
  )
  await enqueueNumbers(db, job, range(2), (n) => ({ priority: -n }))
  const { signals } = await engines.start([job])
  await signals.ended(2)
  expect(calls).toEqual([0, 1])
  await expect.poll(() => breaker(job.type), SOON).toMatchObject({ state: 'CLOSED' })
})

test('a dependency that the payload names: its jobs go back until it may be tried, those of others run', async () => {
  const { job, calls, outside } = service('test.by_payload', {
    dependency: ({ n }: { n: number }) => (n % 2 === 0 ? 'even.example' : 'odd.example'),
    breaker: { failures: 2, openMs: 60_000 },
  })
  outside.answer = async (n) => {
    if (n % 2 === 0) throw new Failure('TIMEOUT', 'service.slow', 'It did not answer.')
  }
  await declare(db, job)
  const { signals } = await engines.start([job], { concurrency: 1 })
  await enqueueNumbers(db, job, [2, 4])
  await expect.poll(() => breaker(job.type, 'even.example'), SOON).toMatchObject({ state: 'OPEN' })
  const [even, odd] = await enqueueNumbers(db, job, [6, 7])
  await signals.first('ENDED', (signal) => signal.jobId === odd)
  await signals.first('ENDED', (signal) => signal.jobId === even)
  expect(calls.toSorted()).toEqual([2, 4, 7])
  const row = await waiting(db, even!)
  expect(row).toMatchObject({ status: 'SCHEDULED', attempt: 0 })
  expect(Number(row!.due_in_ms)).toBeGreaterThan(50_000)
  expect(Number(row!.due_in_ms)).toBeLessThan(75_000)
  const { rows } = await db.pool.query('select reason, message from job_event where job_id = $1', [even])
  expect(rows).toEqual([{ reason: 'job.breaker_open', message: 'even.example' }])
  // The pause is over: the first that is due tries, and closes it.
  outside.answer = async () => {}
  await pauseIsOver(job.type)
  await makeDue(db, even!)
  await expect.poll(() => breaker(job.type, 'even.example'), SOON).toMatchObject({ state: 'CLOSED' })
  expect(await finished(db, even!)).toMatchObject({ status: 'SUCCEEDED', attempt: 1 })
})

test('what its own transaction settled, and a whole batch, count as well', async () => {
  const inTransaction = service('test.settles_itself', {
    breaker: { failures: 1 },
    run: (_, context) =>
      context.transaction(async () => ({ kind: 'RETRY_AFTER', delayMs: 1, code: 'service.away', message: 'Away.' })),
  }).job
  const batch = testJob('test.batch_fails', {
    dependency: 'the service',
    breaker: { failures: 2 },
    policy: { delaysMs: [3_600_000] },
    runMany: async () => {
      throw new Failure('TRANSIENT', 'service.away', 'Away.')
    },
  })
  await declare(db, inTransaction, batch)
  await enqueueNumbers(db, inTransaction, [1])
  await enqueueNumbers(db, batch, range(3))
  await engines.start([inTransaction, batch])
  await expect.poll(() => breaker(inTransaction.type), SOON).toMatchObject({ state: 'OPEN' })
  await expect.poll(() => breaker(batch.type), SOON).toMatchObject({ state: 'OPEN' })
})
