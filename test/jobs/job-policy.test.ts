import { expect, test } from 'vitest'
import { Failure } from '../../src/errors/index.ts'
import { enqueue, enqueueMany, type JobPolicy, JobRegistry, PolicyRefusedError } from '../../src/jobs/index.ts'
import { useDatabase } from '../harness/database.ts'
import { enqueueNumbers, finished, range, TENANT, testJob, useEngines } from './support.ts'

const db = useDatabase()
const engines = useEngines(db)

const MOTIVATION = 'Each step of a workflow brings its own policy.'
const step = testJob('test.step', {
  policy: { maxAttempts: 3, ceiling: 10, delaysMs: [0], jitter: 0, maxElapsedMs: 60_000, motivation: MOTIVATION },
  run: () => Promise.reject(new Failure('TRANSIENT', 'test.again', 'Again.')),
})

/** The policies of jobs, in the order of their ids. */
async function policiesOf(ids: readonly string[]) {
  const { rows } = await db.pool.query(
    `select job.id, max_attempts as "maxAttempts", delays_ms as "delaysMs", jitter, max_elapsed_ms::int as "maxElapsedMs"
     from job join job_policy policy on policy.id = policy_id where job.id = any($1)`,
    [ids],
  )
  return ids.map((id) => rows.find((row) => row.id === id))
}

test('a job has what it asks for, and for the rest what its type says', async () => {
  const asked: JobPolicy[] = [
    {},
    { maxAttempts: 10 },
    { maxAttempts: 1, delaysMs: [] },
    { jitter: 0.5, maxElapsedMs: 5 },
  ]
  const type = { maxAttempts: 3, delaysMs: [0], jitter: 0, maxElapsedMs: 60_000 }
  const ids = await enqueueNumbers(db, step, range(4), (n) => ({ policy: asked[n]! }))
  const expected = asked.map((own) => expect.objectContaining({ ...type, ...own }))
  expect(await policiesOf(ids)).toEqual(expected)
  // One at a time goes through another statement.
  for (const [n, policy] of asked.entries()) {
    const [id] = await enqueueNumbers(db, step, [n], { policy })
    expect(await policiesOf([id!])).toEqual([expected[n]])
  }
})

test('J18 J22 attempts are the job’s own, beyond its type’s standard and up to its ceiling', async () => {
  const most = [1, 5, 10]
  const ids = await enqueueNumbers(db, step, range(3), (n) => ({ policy: { maxAttempts: most[n]! } }))
  const { signals } = await engines.start([step])
  await signals.ended(1 + 5 + 10)
  for (const [n, id] of ids.entries())
    await expect.poll(() => finished(db, id)).toMatchObject({ status: 'FAILED', attempt: most[n] })
})

const NEVER = [Number.NaN, 0, -1, 1.5, 11, 1_001, Number.POSITIVE_INFINITY]
const refusals: readonly (readonly [string, JobPolicy, RegExp])[] = [
  ...NEVER.map((maxAttempts) => [`${maxAttempts} attempts`, { maxAttempts }, /maxAttempts is/] as const),
  ['no delay', { delaysMs: [] }, /no delay/],
  ['a delay before now', { delaysMs: [-1] }, /delaysMs/],
  ['a delay that no timer can hold', { delaysMs: [2 ** 31] }, /delaysMs/],
  ['a jitter beyond the delay', { jitter: 1.1 }, /jitter is 1\.1/],
  ['no time at all', { maxElapsedMs: 0 }, /maxElapsedMs is 0/],
  ['more time than its type', { maxElapsedMs: 60_001 }, /at most 60000/],
]
test.each(refusals)('J25 a job cannot have %s, and nothing of its call is written', async (_, policy, message) => {
  const before = (await db.pool.query('select count(*) from job')).rows
  const call = enqueueNumbers(db, step, range(3), (n) => (n === 1 ? { policy } : {}))
  await expect(call).rejects.toBeInstanceOf(PolicyRefusedError)
  await expect(call).rejects.toMatchObject({ code: 'job.policy_refused', message: expect.stringMatching(message) })
  expect((await db.pool.query('select count(*) from job')).rows).toEqual(before)
})

test('a type without a ceiling lets its jobs have less, not more', async () => {
  const plain = testJob('test.plain', { policy: { maxAttempts: 3, delaysMs: [0] } })
  const [id] = await enqueueNumbers(db, plain, [1], { policy: { maxAttempts: 2 } })
  expect(await policiesOf([id!])).toMatchObject([{ maxAttempts: 2 }])
  await expect(enqueueNumbers(db, plain, [1], { policy: { maxAttempts: 4 } })).rejects.toThrow('at most 3')
})

test.each([
  ['J25 a ceiling beyond the class without a reason', { ceiling: 10 }, /up to 10 attempts.*policy\.motivation/s],
  ['a ceiling below its own attempts', { maxAttempts: 3, ceiling: 2 }, /policy\.ceiling is 2/],
  ['a ceiling that is none', { ceiling: 2.5, motivation: MOTIVATION }, /policy\.ceiling is 2\.5/],
])('start-up refuses %s', (_, policy, message) => {
  expect(() => new JobRegistry([testJob('test.refused', { policy: { delaysMs: [0], ...policy } })])).toThrow(message)
})

test('J22 start-up refuses a ceiling that allows retries without an agreement on idempotency', () => {
  const once = testJob('test.once', { policy: { maxAttempts: 1, ceiling: 2, delaysMs: [0] }, idempotency: '' })
  expect(() => new JobRegistry([once])).toThrow('second run does no harm')
})

test('J29 sixteen callers bring the same new policies and keys in every order: each key has one job, nobody waits for ever', async () => {
  const request = (n: number) => ({
    tenantId: TENANT,
    payload: { n },
    correlationId: 'c',
    triggeredBy: 't',
    idempotencyKey: `key ${n}`,
    policy: { delaysMs: [n + 1] },
  })
  const orders = range(16).map((caller) => range(12).map((n) => (n * 5 + caller) % 12))
  const answers = await Promise.all(orders.map((order) => enqueueMany(db.database, step, order.map(request))))
  for (const [caller, order] of orders.entries())
    for (const [index, n] of order.entries()) {
      const first = answers[0]![orders[0]!.indexOf(n)]!
      expect(answers[caller]![index]!.jobId).toBe(first.jobId)
    }
  const created = answers.flat().filter((one) => one.created)
  expect(created).toHaveLength(12)
  const again = await enqueue(db.database, step, { ...request(3), policy: { maxAttempts: 1 } })
  expect(again).toMatchObject({ created: false })
  expect(await policiesOf([again.jobId])).toMatchObject([{ maxAttempts: 3, delaysMs: [4] }])
})

test('hundreds of policies of one type are all kept, however few are remembered', async () => {
  const ids = await enqueueNumbers(db, step, range(600), (n) => ({ policy: { delaysMs: [n + 1_000] } }))
  const again = await enqueueNumbers(db, step, range(600), (n) => ({ policy: { delaysMs: [n + 1_000] } }))
  const found = await policiesOf([...ids, ...again])
  expect(found.map(({ delaysMs }) => delaysMs[0] - 1_000)).toEqual([...range(600), ...range(600)])
})
