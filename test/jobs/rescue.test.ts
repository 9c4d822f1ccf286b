import { expect, test } from 'vitest'
import { rescueLostJobs } from '../../src/jobs/engine/rescue.ts'
import { Permits } from '../../src/jobs/engine/permits.ts'
import { keepWorkers } from '../../src/jobs/lease.ts'
import {
  type AnyJobDefinition,
  attemptsOfJobs,
  cancelJobs,
  type JobOutcome,
  JobRegistry,
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
  Signals,
  silent,
  TENANT,
  testJob,
  useEngines,
  waiting,
} from './support.ts'

const db = useDatabase()
const engines = useEngines(db)

function rescueWith(definitions: readonly AnyJobDefinition[]) {
  const signals = new Signals()
  return rescueLostJobs({
    database: db.database,
    registry: new JobRegistry(definitions),
    workerId: '0193a000-0000-7000-8000-0000000000aa',
    logger: silent,
    transactions: new Permits(2),
    onCommitted: () => {},
    signal: signals.push,
  })
}

const DEAD = '0193a000-0000-7000-8000-00000000dead'

/** As if a worker had claimed the jobs and died. */
async function claimedByTheDead(ids: readonly string[], attempt = 1): Promise<void> {
  await keepWorkers(db.database, [{ id: DEAD, slot: 0 }], 60_000)
  await db.pool.query(
    `update job set status = 'PROCESSING', worker_id = $2, claim_epoch = claim_epoch + 1, attempt = $3, claimed_at = now()
     where id = any($1)`,
    [ids, DEAD, attempt],
  )
  await lapse(db, DEAD)
}

test('pain 32 a dead worker is an attempt lost: it follows the policy on the row, and the domain is told', async () => {
  const told: JobOutcome<{ n: number }>[] = []
  const job = testJob('test.lost', {
    policy: { delaysMs: [60_000], jitter: 0 },
    onOutcome: async (_, outcomes) => void told.push(...outcomes),
  })
  const [id] = await enqueueNumbers(db, job, [1])
  await claimedByTheDead([id!])
  expect(await rescueWith([job])).toMatchObject({ processed: 1 })
  const row = await waiting(db, id!)
  expect(row).toMatchObject({ status: 'RETRY_SCHEDULED', attempt: 1, lost: 1, worker_id: null })
  expect(Number(row!.due_in_ms)).toBeGreaterThan(55_000)
  expect(told).toMatchObject([
    { jobId: id, status: 'RETRY_SCHEDULED', attempt: 1, failure: { class: 'LOST', code: 'job.worker_lost' } },
  ])
  expect((await attemptsOfJobs(db.database, TENANT, [id!])).get(id!)).toMatchObject([{ failure: { class: 'LOST' } }])
  expect(await rescueWith([job])).toMatchObject({ processed: 0 })
})

test('pain 14 the decision is the row’s: another release’s policy for the type changes nothing', async () => {
  const old = testJob('test.snapshot', { policy: { maxAttempts: 1, delaysMs: [] } })
  const [id] = await enqueueNumbers(db, old, [1])
  await claimedByTheDead([id!])
  await rescueWith([testJob('test.snapshot', { policy: { maxAttempts: 3, delaysMs: [0] } })])
  expect(await finished(db, id!)).toMatchObject({ status: 'FAILED', attempt: 1, code: 'job.worker_lost' })
})

test('pain 36 a job that kills its workers is given up after the lost cap, whatever attempts are left', async () => {
  const job = testJob('test.poison', { policy: { maxAttempts: 5, maxLost: 2, delaysMs: [0], motivation: 'a test' } })
  const [id] = await enqueueNumbers(db, job, [1])
  for (const attempt of [1, 2, 3]) {
    await claimedByTheDead([id!], attempt)
    await rescueWith([job])
  }
  expect(await finished(db, id!)).toMatchObject({ status: 'FAILED', attempt: 3, failure_class: 'LOST' })
})

test('pain 13 a worker that came back in time keeps its jobs', async () => {
  const job = testJob('test.back')
  const [id] = await enqueueNumbers(db, job, [1])
  await claimedByTheDead([id!])
  await keepWorkers(db.database, [{ id: DEAD, slot: 0 }], 60_000)
  expect(await rescueWith([job])).toMatchObject({ processed: 0 })
  expect(await waiting(db, id!)).toMatchObject({ status: 'PROCESSING', worker_id: DEAD })
  await lapse(db, DEAD)
  expect(await rescueWith([job])).toMatchObject({ processed: 1 })
})

test('pain 13 two rescues at once end each job once', async () => {
  const job = testJob('test.two_rescues', { policy: { delaysMs: [60_000] } })
  const ids = await enqueueNumbers(db, job, range(300))
  await claimedByTheDead(ids)
  const counts = await Promise.all(range(4).map(() => rescueWith([job])))
  expect(counts.reduce((sum, { processed }) => sum + processed, 0)).toBe(300)
  const { rows } = await db.pool.query(`select count(*)::int as n from job_event where type = 'test.two_rescues'`)
  expect(rows[0].n).toBe(300)
})

test('fact 8 a lost job of an unknown type is left for somebody who can tell its domain', async () => {
  const job = testJob('test.theirs')
  const [id] = await enqueueNumbers(db, job, [1])
  await claimedByTheDead([id!])
  expect(await rescueWith([testJob('test.mine')])).toMatchObject({ processed: 0 })
  expect(await waiting(db, id!)).toMatchObject({ status: 'PROCESSING' })
  expect(await rescueWith([job])).toMatchObject({ processed: 1 })
})

test('one job whose domain refuses does not keep the others lost', async () => {
  const job = testJob('test.refuses', {
    policy: { delaysMs: [60_000] },
    onOutcome: async (_, outcomes) => {
      if (outcomes.some(({ payload }) => payload.n === 3)) throw new Error('no')
    },
  })
  const ids = await enqueueNumbers(db, job, range(6))
  await claimedByTheDead(ids)
  expect(await rescueWith([job])).toMatchObject({ found: 6, processed: 5, failed: 1 })
  expect(await waiting(db, ids[3]!)).toMatchObject({ status: 'PROCESSING' })
})

test('however many jobs their domain refuses to end, the others are rescued', async () => {
  const refusing = testJob('test.refused_all', {
    onOutcome: async () => {
      throw new Error('The domain is not ready.')
    },
  })
  const fine = testJob('test.refused_none')
  const refused = await enqueueNumbers(db, refusing, range(500))
  const [id] = await enqueueNumbers(db, fine, [1])
  await claimedByTheDead([...refused, id!])
  expect(await rescueWith([refusing, fine])).toMatchObject({ processed: 1 })
  expect(await waiting(db, id!)).toMatchObject({ status: 'RETRY_SCHEDULED' })
  await db.pool.query('delete from job where id = any($1)', [refused])
}, 30_000)

test('K8 a cancel that was asked for before the worker died is what becomes of the job', async () => {
  const job = testJob('test.cancel_lost')
  const [id] = await enqueueNumbers(db, job, [1])
  await claimedByTheDead([id!])
  await cancelJobs(db.database, { tenantId: TENANT, jobIds: [id!], reason: 'enough', actor: 'anna' })
  await rescueWith([job])
  expect(await finished(db, id!)).toMatchObject({ status: 'CANCELLED', reason: 'enough' })
})

test('pain 12 a claim whose answer never arrived goes back, although its worker lives', async () => {
  const job = testJob('test.unheard')
  const { engine, signals } = await engines.start([job], { leaseMs: 1_500 })
  const [id] = await enqueueNumbers(db, job, [1], { delayMs: 60_000 })
  await db.pool.query(
    `update job set status = 'PROCESSING', worker_id = $2, claim_epoch = 1, attempt = 1, due = now(),
       claimed_at = now() - interval '10 seconds' where id = $1`,
    [id, engine.workerId],
  )
  await signals.first('ENDED', (signal) => signal.jobId === id)
  expect(await finished(db, id!)).toMatchObject({ status: 'SUCCEEDED', attempt: 1, claim_epoch: 2 })
})

test('J63 pain 43 stopping: what was not begun and what was interrupted goes back, no attempt spent', async () => {
  const begun = gate()
  const job = testJob('test.stop', {
    run: (_, { signal }) => {
      begun.open()
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
    },
  })
  // Two at work, two claimed ahead.
  const ids = await enqueueNumbers(db, job, range(2))
  const { engine, signals } = await engines.start([job], { concurrency: 2 })
  await begun.promise
  await signals.first('BEGAN', (signal) => signal.jobId === ids[1])
  const more = await enqueueNumbers(db, job, range(2))
  await engine.stop(2_000)
  for (const id of [...ids, ...more]) expect(await waiting(db, id)).toMatchObject({ status: 'SCHEDULED', attempt: 0 })
  const { rows } = await db.pool.query('select count(*)::int as n from job_worker where id = $1', [engine.workerId])
  expect(rows[0].n).toBe(0)
})

test('J63 stopping waits for a handler that is nearly done', async () => {
  const begun = gate()
  const go = gate()
  const job = testJob('test.drain', { run: async () => (begun.open(), await go.promise, succeeded()) })
  const [id] = await enqueueNumbers(db, job, [1])
  const { engine } = await engines.start([job])
  await begun.promise
  const stopped = engine.stop(5_000)
  go.open()
  await stopped
  expect(await finished(db, id!)).toMatchObject({ status: 'SUCCEEDED', attempt: 1 })
})

test('a handler that ignores the stop is fenced off, and stopping takes no longer than allowed', async () => {
  const begun = gate()
  const job = testJob('test.deaf', { run: () => (begun.open(), new Promise(() => {})) })
  const [id] = await enqueueNumbers(db, job, [1])
  const { engine } = await engines.start([job])
  await begun.promise
  const started = performance.now()
  await engine.stop(400)
  expect(performance.now() - started).toBeLessThan(3_000)
  expect(await waiting(db, id!)).toMatchObject({ status: 'SCHEDULED', attempt: 0 })
  await makeDue(db, id!)
})
