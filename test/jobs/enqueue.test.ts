import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Queryable } from '../../src/database/index.ts'
import {
  cancelJobs,
  createBatch,
  defineJob,
  enqueue,
  enqueueMany,
  type EnqueuedJob,
  type EnqueueRequest,
  PayloadError,
  succeeded,
} from '../../src/jobs/index.ts'
import { useDatabase } from '../harness/database.ts'
import { enqueueNumbers, finished, OTHER_TENANT, range, TENANT, testJob, useEngines, waiting } from './support.ts'

const db = useDatabase()
const engines = useEngines(db)

const job = testJob('test.enqueue')
const request = (n: number, more: object = {}) => ({
  tenantId: TENANT,
  payload: { n },
  correlationId: 'corr',
  triggeredBy: 'tester',
  ...more,
})

test('J06 a job exists when, and only if, the transaction that enqueued it commits', async () => {
  let rolledBack = ''
  await expect(
    db.database.transaction(TENANT, async (tx) => {
      rolledBack = (await enqueue(tx, job, request(1))).jobId
      throw new Error('no')
    }),
  ).rejects.toThrow('no')
  expect(await waiting(db, rolledBack)).toBeUndefined()

  const committed = await db.database.transaction(TENANT, (tx) => enqueue(tx, job, request(1)))
  expect(await waiting(db, committed.jobId)).toMatchObject({ status: 'SCHEDULED', attempt: 0 })
})

test('J29 the same idempotency key is the same job, also among 16 connections at once', async () => {
  const answers = await Promise.all(
    range(16).map((n) => enqueue(db.database, job, request(n, { idempotencyKey: 'one' }))),
  )
  expect(new Set(answers.map((answer) => answer.jobId)).size).toBe(1)
  expect(answers.filter((answer) => answer.created)).toHaveLength(1)
  const { rows } = await db.pool.query(`select count(*)::int as n from job where idempotency_key = 'one'`)
  expect(rows[0].n).toBe(1)
})

test('J29 a key keeps meaning its job after that job is over, and is the tenant’s own', async () => {
  const [id] = await enqueueNumbers(db, job, [1], { idempotencyKey: 'kept' })
  const { signals } = await engines.start([job])
  await signals.first('ENDED', (signal) => signal.jobId === id)
  expect(await enqueue(db.database, job, request(2, { idempotencyKey: 'kept' }))).toEqual({ jobId: id, created: false })
  const other = await enqueue(db.database, job, request(2, { idempotencyKey: 'kept', tenantId: OTHER_TENANT }))
  expect(other.created).toBe(true)
})

test('J29 a key whose first transaction rolls back leaves the key free for the next (pain 26)', async () => {
  const first = db.database.transaction(TENANT, async (tx) => {
    await enqueue(tx, job, request(1, { idempotencyKey: 'contested' }))
    throw new Error('rolled back')
  })
  const [, second] = await Promise.allSettled([
    first,
    enqueue(db.database, job, request(2, { idempotencyKey: 'contested' })),
  ])
  const { jobId } = second.status === 'fulfilled' ? second.value : { jobId: '' }
  expect(await waiting(db, jobId)).toMatchObject({ status: 'SCHEDULED' })
})

test('one call with equal, different and no keys answers in order', async () => {
  const answers = await enqueueMany(db.database, job, [
    request(1, { idempotencyKey: 'a' }),
    request(2),
    request(3, { idempotencyKey: 'a' }),
    request(4, { idempotencyKey: 'b' }),
  ])
  expect(answers.map((answer) => answer.created)).toEqual([true, true, false, true])
  expect(answers[2]!.jobId).toBe(answers[0]!.jobId)
  expect(new Set(answers.map((answer) => answer.jobId)).size).toBe(3)
})

test('a job id chosen by the caller and its key may come twice', async () => {
  const jobId = '0193a000-0000-7000-8000-0000000000ff'
  const twice = () => enqueue(db.database, job, request(1, { jobId, idempotencyKey: 'chosen' }))
  expect([await twice(), await twice()]).toEqual([
    { jobId, created: true },
    { jobId, created: false },
  ])
})

const anyShape = <Payload>(type: string, payload: z.ZodType<Payload>) =>
  defineJob<Payload>({
    type,
    class: 'RECOVERY',
    payload,
    timeoutMs: 1_000,
    displayName: () => type,
    run: async () => succeeded(),
  })

test('J103 a payload is checked when enqueued: shape, size, characters', async () => {
  const text = anyShape('test.text', z.object({ text: z.string() }))
  const put = (value: unknown) => enqueue(db.database, text, { ...request(0), payload: { text: value as string } })
  await expect(put(7)).rejects.toThrow(PayloadError)
  await expect(put('x'.repeat(65 * 1024))).rejects.toThrow(/65536 is the limit/)
  await expect(put('a\0b')).rejects.toThrow(/cannot be stored/)
  await expect(put('a\\u0000b')).resolves.toMatchObject({ created: true })
})

test.each(['password', 'accessToken', 'api_key', 'Authorization'])(
  'J70 a payload with the field "%s" is refused, without its value',
  async (field) => {
    const loose = anyShape('test.loose', z.record(z.string(), z.unknown()))
    const error = await enqueue(db.database, loose, {
      ...request(0),
      payload: { deep: [{ [field]: 'hunter2' }] },
    }).catch((e: unknown) => e)
    expect(error).toBeInstanceOf(PayloadError)
    expect(String(error)).toContain(field)
    expect(String(error)).not.toContain('hunter2')
  },
)

test('J33 cancelling: a waiting job is over at once, another tenant’s and a finished one are not touched', async () => {
  const [mine, foreign] = [
    (await enqueueNumbers(db, job, [1], { delayMs: 60_000 }))[0]!,
    (await enqueueNumbers(db, job, [2], { delayMs: 60_000, tenantId: OTHER_TENANT }))[0]!,
  ]
  const cancel = () =>
    db.database.transaction(TENANT, (tx) =>
      cancelJobs(tx, { tenantId: TENANT, jobIds: [mine, foreign], reason: 'changed my mind', actor: 'tester' }),
    )
  expect(await cancel()).toEqual({ cancelled: [mine], signalled: [] })
  expect(await finished(db, mine)).toMatchObject({ status: 'CANCELLED', reason: 'changed my mind' })
  expect(await waiting(db, foreign)).toMatchObject({ status: 'SCHEDULED' })
  expect(await cancel()).toEqual({ cancelled: [], signalled: [] })
  const { rows } = await db.pool.query('select "from", "to", actor, reason from job_event where job_id = $1', [mine])
  expect(rows).toEqual([{ from: 'SCHEDULED', to: 'CANCELLED', actor: 'tester', reason: 'changed my mind' }])
})

const AT = new Date('2027-03-01T12:00:00.000Z')
/** Everything that a request can say, and texts with what PostgreSQL does not take. */
const everything = (n: number) =>
  request(n, { correlationId: 'a\0b', runAt: AT, delayMs: 1_500, priority: 7, triggeredBy: 'half \ud800 a pair' })

test.each([
  ['in a transaction past Prisma', (body: (tx: Queryable) => Promise<EnqueuedJob[]>) => body(db.database)],
  ['in a transaction', (body: (tx: Queryable) => Promise<EnqueuedJob[]>) => db.database.transaction(TENANT, body)],
])('one job, several that are alike and several that differ are written the same, %s', async (_, within) => {
  const written = async (...requests: EnqueueRequest<{ n: number }>[]) => {
    const jobs = await within((tx) => enqueueMany(tx, job, requests))
    const { rows } = await db.pool.query(
      `select to_jsonb(job) - '{id,created_at}'::text[] as job from job join unnest($1::uuid[]) with ordinality as given(id, n)
       using (id) order by given.n`,
      [jobs.map(({ jobId }) => jobId)],
    )
    return rows.map((row: { job: object }) => row.job)
  }
  const [alone] = await written(everything(1))
  expect(alone).toMatchObject({
    tenant_id: TENANT,
    urgency: -7,
    due: '2027-03-01T12:00:01.5+00:00',
    correlation_id: 'a\ufffdb',
    triggered_by: 'half \ufffd a pair',
    display_name: 'test 1',
    payload: { n: 1 },
    payload_version: 1,
    batch_id: null,
    idempotency_key: null,
  })
  expect(await written(everything(1), everything(1))).toEqual([alone, alone])
  const other = request(2, { tenantId: OTHER_TENANT, runAt: AT })
  const [first, second] = await written(everything(1), other)
  expect([first, second]).toEqual([alone, ...(await written(other))])
})

test('the first job of a policy brings the policy along, also when a transaction before it has rolled back', async () => {
  const fresh = testJob('test.fresh_policy', { timeoutMs: 12_345 })
  const kept = () => db.pool.query('select from job_policy where timeout_ms = 12345')
  await expect(
    db.database.transaction(TENANT, async (tx) => {
      await enqueue(tx, fresh, request(1))
      throw new Error('no')
    }),
  ).rejects.toThrow('no')
  expect((await kept()).rowCount).toBe(0)
  await Promise.all(range(8).map((n) => enqueue(db.database, fresh, request(n))))
  expect((await kept()).rowCount).toBe(1)
  const { rows } = await db.pool.query(
    `select count(*)::int as jobs from job join job_policy on job_policy.id = policy_id where type = 'test.fresh_policy'`,
  )
  expect(rows).toEqual([{ jobs: 8 }])
})

test('a job joins a batch of its own tenant, one by one and with others', async () => {
  const batch = (tenantId: string) =>
    createBatch(db.database, { tenantId, label: 'A label', correlationId: 'corr', triggeredBy: 'tester' })
  const batchId = await batch(TENANT)
  const joined = await db.database.transaction(TENANT, async (tx) => [
    await enqueue(tx, job, request(1, { batchId })),
    ...(await enqueueMany(tx, job, [
      request(2, { batchId }),
      request(3),
      request(4, { batchId, idempotencyKey: 'in a batch' }),
    ])),
  ])
  const { rows } = await db.pool.query('select id from job where batch_id = $1', [batchId])
  expect(rows.map((row: { id: string }) => row.id).sort()).toEqual(
    [joined[0], joined[1], joined[3]].map((one) => one!.jobId).sort(),
  )
  const foreign = await batch(OTHER_TENANT)
  await expect(enqueue(db.database, job, request(5, { batchId: foreign }))).rejects.toMatchObject({
    code: 'job.batch_not_found',
  })
})
