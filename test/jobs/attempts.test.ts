import { describe, expect, test } from 'vitest'
import { statement } from '../../src/database/index.ts'
import { ConflictError, Failure, NotFoundError } from '../../src/errors/index.ts'
import {
  attemptsForOperators,
  attemptsOfJobs,
  cancelJobs,
  cancelled,
  failed,
  jobStates,
  type JobResult,
  notApplicable,
  postponed,
  retryAfter,
  succeeded,
} from '../../src/jobs/index.ts'
import { useDatabase } from '../harness/database.ts'
import { enqueueNumbers, finished, makeDue, OTHER_TENANT, TENANT, testJob, useEngines, waiting } from './support.ts'

const db = useDatabase()
const engines = useEngines(db)

/** Runs one attempt that ends so, and gives what became of the job. */
async function afterOneAttempt(act: () => Promise<JobResult>, policy = { delaysMs: [60_000], jitter: 0 }) {
  const job = testJob('test.attempt', { run: act, policy })
  const [id] = await enqueueNumbers(db, job, [1])
  const { signals, engine } = await engines.start([job])
  await signals.first('ENDED', (signal) => signal.jobId === id)
  await engine.stop(500)
  return { id: id!, over: await finished(db, id!), waits: await waiting(db, id!) }
}

const throwing = (error: unknown) => async () => {
  throw error
}

describe('J39 what a handler answers decides the state', () => {
  test('J37 succeeded, with its output', async () => {
    const { over } = await afterOneAttempt(async () => succeeded({ rows: 3 }))
    expect(over).toMatchObject({ status: 'SUCCEEDED', attempt: 1, output: { rows: 3 }, code: null })
  })
  test('K4 not applicable is cancelled, with the reason', async () => {
    const { over } = await afterOneAttempt(async () => notApplicable('invitation expired'))
    expect(over).toMatchObject({ status: 'CANCELLED', reason: 'invitation expired' })
  })
  test('J39 cancelled', async () => {
    const { over } = await afterOneAttempt(async () => cancelled('superseded'))
    expect(over).toMatchObject({ status: 'CANCELLED', reason: 'superseded' })
  })
  test('J39 failed for good, at the first attempt', async () => {
    const { over } = await afterOneAttempt(async () => failed('thing.broken', 'The thing is broken.'))
    expect(over).toMatchObject({ status: 'FAILED', attempt: 1, failure_class: 'PERMANENT', code: 'thing.broken' })
  })
  test('J37 retry after the time the handler asks for', async () => {
    const { waits } = await afterOneAttempt(async () => retryAfter(7_000, 'thing.busy', 'Busy.'))
    expect(waits).toMatchObject({ status: 'RETRY_SCHEDULED', attempt: 1 })
    expect(Number(waits!.due_in_ms)).toBeGreaterThan(4_000)
    expect(Number(waits!.due_in_ms)).toBeLessThanOrEqual(7_000)
  })
  test('J33 postponed: waits again and no attempt is spent', async () => {
    const { waits } = await afterOneAttempt(async () => postponed(9_000, 'not open yet'))
    expect(waits).toMatchObject({ status: 'SCHEDULED', attempt: 0, claim_epoch: 1 })
  })
  test('J37 something that is no result is a failure, not a success', async () => {
    const { waits } = await afterOneAttempt(async () => undefined as never)
    expect(waits).toMatchObject({ status: 'RETRY_SCHEDULED' })
  })
})

describe('J48 what a handler throws is classified', () => {
  test.each([
    ['J19 a permanent failure', new Failure('PERMANENT', 'x.gone', 'Gone.'), 'FAILED', 'x.gone'],
    ['J19 a functional error', new ConflictError('Somebody was faster.'), 'FAILED', 'CONFLICT'],
    ['J19 a domain object that is gone', new NotFoundError('The person'), 'FAILED', 'NOT_FOUND'],
    ['J48 a transient failure', new Failure('TRANSIENT', 'x.down', 'Down.'), 'RETRY_SCHEDULED', 'x.down'],
    ['J48 the unknown', new Error('secret detail'), 'RETRY_SCHEDULED', 'job.unexpected'],
    ['J48 a lock time-out', Object.assign(new Error('lock'), { code: '55P03' }), 'RETRY_SCHEDULED', 'job.lock_timeout'],
    ['J48 a deadlock', Object.assign(new Error('dead'), { code: '40P01' }), 'RETRY_SCHEDULED', 'job.conflict'],
    ['J48 something that is no error', 'a string', 'RETRY_SCHEDULED', 'job.unexpected'],
  ])('%s', async (_, error, status, code) => {
    const { id, over, waits } = await afterOneAttempt(throwing(error))
    expect((over ?? waits)!.status).toBe(status)
    const attempts = (await attemptsOfJobs(db.database, TENANT, [id])).get(id)!
    expect(attempts).toMatchObject([{ attempt: 1, from: 'PROCESSING', to: status, failure: { code } }])
  })

  test('a throttled failure waits as long as the other side asked', async () => {
    const { waits } = await afterOneAttempt(
      throwing(new Failure('THROTTLED', 'x.slow', 'Slow.', { retryAfterMs: 300_000 })),
    )
    expect(Number(waits!.due_in_ms)).toBeGreaterThan(290_000)
  })

  test('J19 J103 a payload that is no longer of the declared shape fails at once, without being run', async () => {
    let ran = 0
    const job = testJob('test.shape', { run: async () => (ran++, succeeded()) })
    const [id] = await enqueueNumbers(db, job, [1])
    await db.pool.query(`update job set payload = '{"n":"three"}' where id = $1`, [id])
    const { signals } = await engines.start([job])
    await signals.first('ENDED')
    expect(await finished(db, id!)).toMatchObject({ status: 'FAILED', attempt: 1, code: 'job.payload_invalid' })
    expect(ran).toBe(0)
  })
})

test('J36 J88 J89 the message is safe, the stack is redacted and only for those who ask', async () => {
  const error = new Error('at postgres://regie:hunter2@db/x for jan@example.org with password=hunter2')
  const { id } = await afterOneAttempt(throwing(error))
  const plain = (await attemptsOfJobs(db.database, TENANT, [id])).get(id)![0]!
  expect(JSON.stringify(plain)).not.toMatch(/hunter2|example\.org/)
  expect(plain.stack).toBeNull()
  const seen = (await attemptsOfJobs(db.database, TENANT, [id], { withStacks: true })).get(id)![0]!
  expect(seen.stack).toContain('attempts.test')
  expect(seen.stack).not.toMatch(/hunter2|jan@example/)
})

test('J36 a message of any length or with a NUL is kept, shortened', async () => {
  const { id } = await afterOneAttempt(throwing(new Failure('TRANSIENT', 'x.long', `a\0${'é'.repeat(5_000)}`)))
  const [attempt] = (await attemptsOfJobs(db.database, TENANT, [id])).get(id)!
  expect(attempt!.failure!.message).toHaveLength(2_000)
})

test('J09 J23 J34 J35 J46 J94 J104 every attempt is kept: number, times, class, code, worker, correlation', async () => {
  let runs = 0
  const job = testJob('test.history', {
    run: async (_, context) => {
      expect(context).toMatchObject({ attempt: ++runs, maxAttempts: 3, correlationId: 'corr-1', triggeredBy: 'tester' })
      throw new Failure('TRANSIENT', 'x.down', `Down ${runs}.`)
    },
  })
  const [id] = await enqueueNumbers(db, job, [1])
  const { signals } = await engines.start([job])
  await signals.first('ENDED', (signal) => signal.status === 'FAILED')
  expect(await finished(db, id!)).toMatchObject({ status: 'FAILED', attempt: 3, code: 'x.down', message: 'Down 3.' })
  const attempts = (await attemptsOfJobs(db.database, TENANT, [id!])).get(id!)!
  expect(attempts.map(({ attempt, to }) => [attempt, to])).toEqual([
    [1, 'RETRY_SCHEDULED'],
    [2, 'RETRY_SCHEDULED'],
    [3, 'FAILED'],
  ])
  for (const attempt of attempts) {
    expect(attempt).toMatchObject({ correlationId: 'corr-1', failure: { class: 'TRANSIENT' }, actor: 'system' })
    expect(attempt.endedAt.getTime()).toBeGreaterThanOrEqual(attempt.startedAt!.getTime())
  }
  expect(attempts[2]!.nextAttemptAt).toBeNull()
})

test('J10 the state of a job can be read, by its tenant only', async () => {
  const { id, waits } = await afterOneAttempt(throwing(new Failure('TRANSIENT', 'x', 'x')))
  expect(waits!.status).toBe('RETRY_SCHEDULED')
  const state = (await jobStates(db.database, TENANT, [id])).get(id)!
  expect(state).toMatchObject({ status: 'RETRY_SCHEDULED', attempt: 1, maxAttempts: 3, displayName: 'test 1' })
  expect(state.nextAttemptAt).toBeInstanceOf(Date)
  expect(await jobStates(db.database, OTHER_TENANT, [id])).toEqual(new Map())
  expect((await attemptsOfJobs(db.database, OTHER_TENANT, [id])).get(id)).toEqual([])
})

test('J10 what happened to a job is read as it happened, also when a transaction began before an attempt ended and wrote after', async () => {
  const job = testJob('test.order', { run: throwing(new Error('again')), policy: { delaysMs: [60_000] } })
  const [id] = await enqueueNumbers(db, job, [1])
  await db.database.transaction(TENANT, async (tx) => {
    // Its number is drawn here, before the attempt's.
    await tx.run(statement('test.begin', 'select pg_current_xact_id()::text'), [])
    const { signals, engine } = await engines.start([job])
    await signals.first('ENDED')
    await engine.stop(500)
    await cancelJobs(tx, { tenantId: TENANT, jobIds: [id!], reason: 'enough', actor: 'anna' })
  })
  const happened = [{ to: 'RETRY_SCHEDULED' }, { to: 'CANCELLED' }]
  expect((await attemptsOfJobs(db.database, TENANT, [id!])).get(id!)).toMatchObject(happened)
  expect((await attemptsForOperators(db.database, [id!], { withStacks: false })).get(id!)).toMatchObject(happened)
})

test('J07 a handler that always fails runs exactly as often as its policy says', async () => {
  let runs = 0
  const job = testJob('test.always', {
    policy: { maxAttempts: 5, delaysMs: [0], motivation: 'a test' },
    run: async () => (runs++, Promise.reject(new Error('again'))),
  })
  const [id] = await enqueueNumbers(db, job, [1])
  const { signals } = await engines.start([job])
  await signals.first('ENDED', (signal) => signal.status === 'FAILED')
  expect(runs).toBe(5)
  expect(await finished(db, id!)).toMatchObject({ attempt: 5 })
})

test('an attempt that takes too long is ended, told to stop, and what it does later changes nothing', async () => {
  let aborted: unknown
  let late: unknown
  const job = testJob('test.slow', {
    timeoutMs: 100,
    policy: { delaysMs: [60_000] },
    run: async (_, context) => {
      await new Promise((resolve) => context.signal.addEventListener('abort', resolve))
      aborted = context.signal.reason
      await context.transaction(async () => succeeded()).catch((error: unknown) => (late = error))
      return succeeded()
    },
  })
  const [id] = await enqueueNumbers(db, job, [1])
  const { signals } = await engines.start([job])
  await signals.first('ENDED')
  expect(await waiting(db, id!)).toMatchObject({ status: 'RETRY_SCHEDULED', attempt: 1 })
  expect((await attemptsOfJobs(db.database, TENANT, [id!])).get(id!)).toMatchObject([
    { failure: { class: 'TIMEOUT', code: 'job.timeout' } },
  ])
  await expect.poll(() => late).toBeDefined()
  expect(aborted).toMatchObject({ name: 'AbortError', abortCause: 'TIMEOUT' })
  await makeDue(db, id!)
})

test('J09 of a job with thousands of attempts the newest hundred are given, oldest first', async () => {
  const [id, other] = await enqueueNumbers(db, testJob('test.patient'), [1, 2], { delayMs: 60_000 })
  await db.pool.query(
    `insert into job_event (epoch, job_id, tenant_id, type, attempt, claim_epoch, "from", "to", actor, correlation_id)
     select event_log_current_epoch(), case when n = 0 then $2::uuid else $1 end, $3, 'test.patient', n, n, 'PROCESSING',
       'SCHEDULED', 'system', 'c' from generate_series(0, 3000) n order by n`,
    [id, other, TENANT],
  )
  const attempts = await attemptsForOperators(db.database, [id!, other!], { withStacks: true })
  expect(attempts.get(id!)!.map(({ attempt }) => attempt)).toEqual(Array.from({ length: 100 }, (_, n) => 2_901 + n))
  expect(attempts.get(other!)).toHaveLength(1)
})
