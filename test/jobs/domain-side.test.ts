import { beforeAll, describe, expect, test } from 'vitest'
import { statement, type Tx } from '../../src/database/index.ts'
import { Failure } from '../../src/errors/index.ts'
import {
  cancelJobs,
  cancelled,
  failed,
  type JobDefinition,
  type JobResult,
  postponed,
  retryAfter,
  succeeded,
} from '../../src/jobs/index.ts'
import { useDatabase } from '../harness/database.ts'
import {
  enqueueNumbers,
  finished,
  gate,
  lapse,
  makeDue,
  range,
  TENANT,
  testJob,
  useEngines,
  waiting,
} from './support.ts'

const db = useDatabase()
const engines = useEngines(db)

// A domain with one row per job, which is to say what the job's row says.
beforeAll(() =>
  db.pool.query('create table thing (n int primary key, status text not null, effects int not null default 0)'),
)

const WRITE = statement<never>(
  'test.write_thing',
  `insert into thing (n, status, effects) values ($1::int, $2, $3::int)
   on conflict (n) do update set status = excluded.status, effects = thing.effects + excluded.effects`,
)
const write = (tx: Tx, n: number, status: string, effects = 0) => tx.run(WRITE, [n, status, effects])
const thing = async (n: number) => (await db.pool.query('select status, effects from thing where n = $1', [n])).rows[0]

/** A job whose domain row is written by the handler's own transaction or by `onOutcome`, whoever ends it. */
function thingJob(type: string, own: Partial<JobDefinition<{ n: number }>>): JobDefinition<{ n: number }> {
  return testJob(type, {
    onOutcome: async (tx, outcomes) => {
      for (const outcome of outcomes) await write(tx, outcome.payload.n, outcome.status)
    },
    ...own,
  })
}

/** What the job's own row says. */
async function jobStatus(id: string) {
  return (await finished(db, id))?.status ?? (await waiting(db, id))?.status
}

describe('design 3.4 a domain row and its job never disagree, whatever the ending', () => {
  const endings: [string, number, JobDefinition<{ n: number }>['run']][] = [
    [
      'succeeded in its transaction',
      1,
      async ({ n }, c) => c.transaction(async (tx) => (await write(tx, n, 'SUCCEEDED', 1), succeeded())),
    ],
    ['succeeded without one', 2, async () => succeeded()],
    [
      'failed in its transaction',
      3,
      async ({ n }, c) => c.transaction(async (tx) => (await write(tx, n, 'FAILED', 1), failed('a', 'b'))),
    ],
    ['failed', 4, async () => failed('a', 'b')],
    ['cancelled', 5, async () => cancelled('no longer')],
    [
      'retry in its transaction',
      6,
      async ({ n }, c) =>
        c.transaction(async (tx) => (await write(tx, n, 'RETRY_SCHEDULED'), retryAfter(60_000, 'a', 'b'))),
    ],
    ['retry', 7, async () => retryAfter(60_000, 'a', 'b')],
    ['postponed', 8, async () => postponed(60_000, 'later')],
    ['thrown', 9, async () => Promise.reject(new Failure('PERMANENT', 'a', 'b'))],
    [
      'thrown inside its transaction',
      10,
      async ({ n }, c) =>
        c.transaction(async (tx) => {
          await write(tx, n, 'SUCCEEDED', 1)
          throw new Failure('PERMANENT', 'a', 'b')
        }),
    ],
    [
      'thrown after its transaction',
      11,
      async ({ n }, c) => {
        await c.transaction(async (tx) => (await write(tx, n, 'SUCCEEDED', 1), succeeded()))
        throw new Error('late')
      },
    ],
    [
      'a swallowed SQL error',
      12,
      async ({ n }, c) =>
        c.transaction(async (tx) => {
          await write(tx, n, 'SUCCEEDED', 1)
          await tx.run(statement('test.broken', 'select 1 / 0'), []).catch(() => {})
          return succeeded()
        }),
    ],
  ]
  test.each(endings)('%s', async (_, n, run) => {
    const job = thingJob('test.agree', { run: run!, policy: { delaysMs: [60_000] } })
    const [id] = await enqueueNumbers(db, job, [n])
    const { signals } = await engines.start([job])
    await signals.first('ENDED', (signal) => signal.jobId === id)
    const row = await thing(n)
    expect(row.status).toBe(await jobStatus(id!))
    expect(row.effects).toBe([1, 3, 11].includes(n) ? 1 : 0)
  })

  test('a time-out', async () => {
    const job = thingJob('test.timeout', {
      timeoutMs: 100,
      policy: { delaysMs: [60_000] },
      run: () => new Promise(() => {}),
    })
    const [id] = await enqueueNumbers(db, job, [20])
    const { signals } = await engines.start([job])
    await signals.first('ENDED')
    expect((await thing(20)).status).toBe('RETRY_SCHEDULED')
    expect(await jobStatus(id!)).toBe('RETRY_SCHEDULED')
  })

  test('K8 a cancel while it runs: the signal, and the domain is told who cancelled and why', async () => {
    const seen: unknown[] = []
    const job = thingJob('test.cancel_running', {
      run: (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
      onOutcome: async (tx, [outcome]) => {
        seen.push([outcome!.status, outcome!.reason, outcome!.actor])
        await write(tx, outcome!.payload.n, outcome!.status)
      },
    })
    const [id] = await enqueueNumbers(db, job, [21])
    const { signals } = await engines.start([job])
    await signals.first('BEGAN')
    const answer = await db.database.transaction(TENANT, (tx) =>
      cancelJobs(tx, { tenantId: TENANT, jobIds: [id!], reason: 'a better idea', actor: 'anna' }),
    )
    expect(answer).toEqual({ cancelled: [], signalled: [id] })
    await signals.first('ENDED')
    expect(seen).toEqual([['CANCELLED', 'a better idea', 'anna']])
    expect(await jobStatus(id!)).toBe('CANCELLED')
  })

  test('K8 a cancel that comes when the work is done loses', async () => {
    const go = gate()
    const job = thingJob('test.cancel_late', {
      run: async ({ n }, context) => {
        await go.promise
        return context.transaction(async (tx) => (await write(tx, n, 'SUCCEEDED', 1), succeeded()))
      },
    })
    const [id] = await enqueueNumbers(db, job, [22])
    const { signals } = await engines.start([job])
    await signals.first('BEGAN')
    await cancelJobs(db.database, { tenantId: TENANT, jobIds: [id!], reason: 'too late', actor: 'anna' })
    go.open()
    await signals.first('ENDED')
    expect(await thing(22)).toEqual({
      status: await jobStatus(id!),
      effects: (await jobStatus(id!)) === 'SUCCEEDED' ? 1 : 0,
    })
  })
})

test('J33 a domain that cannot be told is told again: the ending is neither written without it nor lost', async () => {
  let refusals = 3
  const job = thingJob('test.stubborn', {
    run: async () => failed('a', 'b'),
    onOutcome: async (tx, outcomes) => {
      for (const { payload, status } of outcomes) {
        if (payload.n === 30 && refusals-- > 0) throw new Error('not now')
        await write(tx, payload.n, status)
      }
    },
  })
  const ids = await enqueueNumbers(db, job, [30, 31, 32])
  const { signals } = await engines.start([job])
  await signals.first('SETTLE_TROUBLE')
  await signals.ended(3)
  for (const [index, n] of [30, 31, 32].entries()) {
    expect(await thing(n)).toEqual({ status: 'FAILED', effects: 0 })
    expect(await jobStatus(ids[index]!)).toBe('FAILED')
  }
  // The one that refused held up only itself.
  expect(signals.of('ENDED').at(-1)!.jobId).toBe(ids[0])
})

test('design 3.4 context.step commits before the end and proves the claim', async () => {
  const stepped = gate()
  const go = gate()
  const job = thingJob('test.step', {
    run: async ({ n }, context) => {
      await context.step((tx) => write(tx, n, 'PROCESSING'))
      stepped.open()
      await go.promise
      return context.transaction(async (tx) => (await write(tx, n, 'SUCCEEDED', 1), succeeded()))
    },
  })
  await enqueueNumbers(db, job, [40])
  const { signals } = await engines.start([job])
  await stepped.promise
  expect((await thing(40)).status).toBe('PROCESSING')
  go.open()
  await signals.first('ENDED')
  expect(await thing(40)).toEqual({ status: 'SUCCEEDED', effects: 1 })
})

test('J08 a zombie that wakes after its lease lapsed changes nothing: not in a step, not at the end (fact 1)', async () => {
  const asleep = gate()
  const wake = gate()
  const errors: unknown[] = []
  const job = thingJob('test.zombie', {
    run: async ({ n }, context) => {
      if (context.attempt === 1) {
        asleep.open()
        await wake.promise
        await context.step((tx) => write(tx, n, 'FROM THE DEAD', 1)).catch((error: unknown) => errors.push(error))
      }
      return context.transaction(async (tx) => (await write(tx, n, 'SUCCEEDED', 1), succeeded()))
    },
  })
  const [id] = await enqueueNumbers(db, job, [50])
  const first = await engines.start([job], { leaseMs: 600_000 })
  await asleep.promise
  await lapse(db, first.engine.workerId)
  const second = await engines.start([job], { leaseMs: 1_500 })
  // Whichever engine's slot it was.
  await Promise.race([first, second].map(({ signals }) => signals.first('RESCUED')))
  await second.signals.first('ENDED', (signal) => signal.attempt === 2)
  wake.open()
  await first.signals.first('SUPERSEDED')
  await expect.poll(() => errors).toHaveLength(1)
  expect(await thing(50)).toEqual({ status: 'SUCCEEDED', effects: 1 })
  expect(await finished(db, id!)).toMatchObject({ status: 'SUCCEEDED', attempt: 2 })
})

test('pain 15 a worker whose claim was taken away is told within a moment', async () => {
  const told = gate<unknown>()
  const job = testJob('test.told', {
    policy: { delaysMs: [60_000] },
    run: (_, { signal }) =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => (told.open(signal.reason), resolve(succeeded()))),
      ),
  })
  const [id] = await enqueueNumbers(db, job, [1])
  const { signals } = await engines.start([job])
  await signals.first('BEGAN')
  await db.pool.query(
    `update job set status = 'SCHEDULED', worker_id = null, due = now() + interval '1 hour' where id = $1`,
    [id],
  )
  expect(await told.promise).toMatchObject({ abortCause: 'SUPERSEDED' })
  await signals.first('SUPERSEDED')
})

test('J54 every effect happens once, although the engine is stopped and started over and over', async () => {
  const numbers = range(60).map((n) => 1_000 + n)
  const job = thingJob('test.once', {
    run: async ({ n }, context) => context.transaction(async (tx) => (await write(tx, n, 'SUCCEEDED', 1), succeeded())),
  })
  await enqueueNumbers(db, job, numbers)
  const left = async () =>
    (await db.pool.query(`select count(*)::int as n from job where type = 'test.once'`)).rows[0].n
  while ((await left()) > 0) {
    const { engine, signals } = await engines.start([job], { concurrency: 8 })
    if ((await left()) > 0) await signals.first('CLAIMED')
    await engine.stop(200)
  }
  const { rows } = await db.pool.query(
    'select effects, status, count(*)::int as n from thing where n >= 1000 group by 1, 2',
  )
  expect(rows).toEqual([{ effects: 1, status: 'SUCCEEDED', n: 60 }])
})

describe('runMany', () => {
  const many = (type: string, answer: (n: number) => JobResult | Promise<never>, ran: number[][]) =>
    thingJob(type, {
      runMany: async (jobs, tx) => {
        ran.push(jobs.map((job) => job.payload.n))
        const results: JobResult[] = []
        for (const { payload } of jobs) {
          await write(tx as Tx, payload.n, 'SUCCEEDED', 1)
          results.push(await answer(payload.n))
        }
        return results
      },
    })

  test('a batch of one tenant is one transaction, each job with its own result', async () => {
    const ran: number[][] = []
    const job = many('test.many', (n) => (n % 2 === 0 ? succeeded() : failed('odd', 'Odd.')), ran)
    const ids = await enqueueNumbers(
      db,
      job,
      range(20).map((n) => 2_000 + n),
    )
    const { signals } = await engines.start([job], { concurrency: 64 })
    await signals.ended(20)
    expect(ran).toHaveLength(1)
    const statuses = await Promise.all(ids.map((id) => finished(db, id)))
    expect(statuses.map((row) => row!.status)).toEqual(range(20).map((n) => (n % 2 === 0 ? 'SUCCEEDED' : 'FAILED')))
  })

  test('J56 one that throws does not take the others with it', async () => {
    const ran: number[][] = []
    const job = many(
      'test.many_bad',
      (n) => (n === 3_003 ? Promise.reject(new Failure('PERMANENT', 'bad', 'Bad.')) : succeeded()),
      ran,
    )
    const ids = await enqueueNumbers(
      db,
      job,
      range(6).map((n) => 3_000 + n),
    )
    const { signals } = await engines.start([job], { concurrency: 64 })
    await signals.ended(6)
    const rows = await Promise.all(ids.map((id) => finished(db, id)))
    expect(rows.map((row) => row!.status)).toEqual(range(6).map((n) => (n === 3 ? 'FAILED' : 'SUCCEEDED')))
    const { rows: things } = await db.pool.query(
      'select effects, status from thing where n between 3000 and 3005 order by n',
    )
    expect(things.map((row) => row.effects)).toEqual([1, 1, 1, 0, 1, 1])
  })

  test('too few results are nobody’s success', async () => {
    const job = testJob('test.many_short', { runMany: async () => [] })
    const [id] = await enqueueNumbers(db, job, [1])
    const { signals } = await engines.start([job])
    await signals.ended(1)
    expect(await finished(db, id!)).toMatchObject({ status: 'FAILED', code: 'job.results_missing' })
  })
})

test('a job of the installation has no tenant and its transaction sees all of them', async () => {
  const seen: unknown[] = []
  const job = testJob('test.installation', {
    run: async (_, context) =>
      context.transaction(async (tx) => {
        seen.push(context.tenantId, await tx.run(statement('test.count', 'select count(*)::int as n from thing'), []))
        return succeeded()
      }),
  })
  const [id] = await enqueueNumbers(db, job, [1], { tenantId: null })
  const { signals } = await engines.start([job])
  await signals.ended(1)
  expect(seen).toEqual([null, [{ n: expect.any(Number) }]])
  expect(await finished(db, id!)).toMatchObject({ status: 'SUCCEEDED' })
  await makeDue(db, id!)
})
