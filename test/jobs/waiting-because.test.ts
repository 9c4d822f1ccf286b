import { beforeEach, expect, test } from 'vitest'
import { waitingBecause, type WaitingReason } from '../../src/jobs/index.ts'
import { useDatabase } from '../harness/database.ts'
import { claimerOf, declare, pause, tenant } from './gates-support.ts'
import { enqueueNumbers, makeDue, range, TENANT, testJob } from './support.ts'

const db = useDatabase()

beforeEach(() =>
  db.pool.query(
    'delete from job; delete from job_worker; delete from job_type; delete from job_breaker; delete from job_rate',
  ),
)

const reasons = async (id: string): Promise<WaitingReason[] | undefined> =>
  (await waitingBecause(db.database, [id])).get(id)

/** A live worker that knows these types, as an engine's start declares it. */
async function workerFor(...types: readonly string[]) {
  const worker = await claimerOf(
    db,
    types.map((type) => testJob(type)),
  )
  await db.pool.query('update job_worker set types = $2 where id = $1', [
    worker.workerId,
    JSON.stringify(Object.fromEntries(types.map((type) => [type, 1]))),
  ])
  return worker
}

test('idea 14 not yet due; due and next in turn; behind others of its tenant, counted up to a bound', async () => {
  const job = testJob('test.wait')
  await workerFor(job.type)
  const [later] = await enqueueNumbers(db, job, [1], { delayMs: 60_000 })
  expect(await reasons(later!)).toEqual([{ kind: 'NOT_YET_DUE', at: expect.any(Date) }])
  await makeDue(db, later!)
  expect(await reasons(later!)).toEqual([{ kind: 'AHEAD', jobs: 0, atLeast: false }])
  await enqueueNumbers(db, job, range(3), { priority: 5 })
  await enqueueNumbers(db, job, range(7), { tenantId: tenant(1), priority: 5 })
  expect(await reasons(later!)).toEqual([{ kind: 'AHEAD', jobs: 3, atLeast: false }])
  await enqueueNumbers(db, job, range(1_200), { priority: 6 })
  expect(await reasons(later!)).toEqual([{ kind: 'AHEAD', jobs: 1_000, atLeast: true }])
  // What is not due yet is in front of it, and is not said to be nothing.
  await db.pool.query(`update job set due = now() + interval '1 hour' where urgency = -6`)
  expect(await reasons(later!)).toEqual([{ kind: 'AHEAD', jobs: 0, atLeast: true }])
})

test('idea 14 no worker for its type, or for the version of its payload', async () => {
  const job = testJob('test.unknown')
  const [id] = await enqueueNumbers(db, job, [1])
  expect(await reasons(id!)).toContainEqual({ kind: 'NO_WORKER', type: 'test.unknown', payloadVersion: 1 })
  const { workerId } = await workerFor(job.type)
  expect(await reasons(id!)).toEqual([{ kind: 'AHEAD', jobs: 0, atLeast: false }])
  await db.pool.query('update job set payload_version = 2 where id = $1', [id])
  expect(await reasons(id!)).toContainEqual({ kind: 'NO_WORKER', type: 'test.unknown', payloadVersion: 2 })
  await db.pool.query('update job set payload_version = 1 where id = $1', [id])
  await db.pool.query(`update job_worker set lease_until = now() - interval '1 second' where id = $1`, [workerId])
  expect((await reasons(id!))![0]).toMatchObject({ kind: 'NO_WORKER' })
})

test('idea 14 its type is paused, its service does not answer: the weightiest first, all of them told', async () => {
  const job = testJob('test.both', { dependency: 'the post' })
  await declare(db, job)
  await workerFor(job.type)
  const [id] = await enqueueNumbers(db, job, [1], { delayMs: 60_000 })
  await pause(db, job.type)
  await db.pool.query(
    `insert into job_breaker (type, dependency, state, failures, opened_at, open_until)
     values ($1, 'the post', 'OPEN', 5, now(), now() + interval '30 seconds')`,
    [job.type],
  )
  expect(await reasons(id!)).toMatchObject([
    { kind: 'PAUSED', reason: 'a test' },
    { kind: 'BREAKER_OPEN', dependency: 'the post', until: expect.any(Date) },
    { kind: 'NOT_YET_DUE' },
  ])
})

test('idea 14 a limit of its type or tenant is reached, or the tenant’s rate is used up', async () => {
  const job = testJob('test.limits', {
    limits: { running: 2, runningPerTenant: 1, ratePerTenant: { jobs: 2, perMs: 3_600_000 } },
  })
  await declare(db, job)
  const { claim } = await workerFor(job.type)
  await db.pool.query('update job_worker set types = $1', [JSON.stringify({ [job.type]: 1 })])
  await enqueueNumbers(db, job, [1])
  expect(await claim(5)).toHaveLength(1)
  const [id] = await enqueueNumbers(db, job, [2])
  expect(await reasons(id!)).toEqual([{ kind: 'TENANT_CAP', running: 1, cap: 1 }])
  await enqueueNumbers(db, job, [3], { tenantId: tenant(1) })
  expect(await claim(5)).toHaveLength(1)
  expect(await reasons(id!)).toEqual([
    { kind: 'TYPE_CAP', running: 2, cap: 2 },
    { kind: 'TENANT_CAP', running: 1, cap: 1 },
  ])
  await db.pool.query('update job_rate set tokens = 0, refilled_at = now() where tenant_id = $1', [TENANT])
  expect(await reasons(id!)).toContainEqual({ kind: 'RATE', nextAt: expect.any(Date) })
})

test('idea 14 it was lost with a worker and waits to run alone', async () => {
  const job = testJob('test.suspect')
  await workerFor(job.type)
  const [id] = await enqueueNumbers(db, job, [1])
  await db.pool.query(`update job set lost = 1, attempt = 1, status = 'RETRY_SCHEDULED' where id = $1`, [id])
  expect(await reasons(id!)).toEqual([{ kind: 'ISOLATION' }])
})

test('pain 8 what runs, is over or does not exist has no reason, and asking hides no job from a claim', async () => {
  const job = testJob('test.asked')
  const { claim } = await workerFor(job.type)
  const [running, waits] = await enqueueNumbers(db, job, [1, 2], (n) => ({ priority: n === 1 ? 1 : 0 }))
  expect(await claim(1)).toMatchObject([{ id: running }])
  const asker = await db.pool.connect()
  try {
    await asker.query('begin')
    const on = { run: async (statement: any, values: any) => (await asker.query(statement.text, values)).rows as any }
    const asked = await waitingBecause(on, [running!, waits!, tenant(9)])
    expect([...asked.keys()]).toEqual([waits])
    expect(await claim(1)).toMatchObject([{ id: waits }])
    await asker.query('commit')
  } finally {
    asker.release()
  }
})
