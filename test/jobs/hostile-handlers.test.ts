import { describe, expect, test } from 'vitest'
import { Failure } from '../../src/errors/index.ts'
import { type JobDefinition, type JobResult, postponed, retryAfter, succeeded } from '../../src/jobs/index.ts'
import { useDatabase } from '../harness/database.ts'
import { enqueueNumbers, finished, range, testJob, useEngines, waiting } from './support.ts'

const db = useDatabase()
const engines = useEngines(db)

/** What became of one job whose only attempt this handler made. */
async function become(run: NonNullable<JobDefinition<{ n: number }>['run']>) {
  const job = testJob('test.hostile', { run, policy: { delaysMs: [60_000], jitter: 0 } })
  const [id] = await enqueueNumbers(db, job, [1])
  const { signals, engine } = await engines.start([job])
  await signals.first('ENDED', (signal) => signal.jobId === id)
  await engine.stop(500)
  return (await finished(db, id!)) ?? (await waiting(db, id!))!
}

describe('J33 an answer that cannot be written down ends the attempt, it does not hold the job for ever', () => {
  const circular: Record<string, unknown> = {}
  circular['itself'] = circular
  test.each<[string, JobResult]>([
    ['an output that is no JSON', succeeded({ n: 1n })],
    ['an output that holds itself', succeeded(circular)],
    ['a wait beyond all calendars', postponed(1e300, 'later')],
    ['a wait that is no number', postponed(Number.NaN, 'later')],
    ['a wait that never ends', retryAfter(Infinity, 'x.busy', 'Busy.')],
    ['an output beyond all measure', succeeded({ text: 'x'.repeat(70_000) })],
    ['a reason that is no text', { kind: 'CANCELLED', reason: 7 as never }],
    ['a code that is no text', { kind: 'FAILED', code: { a: 1 } as never, message: 'x' }],
  ])('%s', async (_, result) => {
    expect(await become(async () => result)).toMatchObject({ status: 'RETRY_SCHEDULED', attempt: 1 })
  })
  test('a wait until a moment that has just passed is no wait', async () => {
    expect(await become(async () => retryAfter(-20, 'x.busy', 'Busy.'))).toMatchObject({ status: 'RETRY_SCHEDULED' })
  })
  test('J48 an error whose own fields cannot be read', async () => {
    const row = await become(async () => {
      throw Object.defineProperty(new Failure('TRANSIENT', 'x.odd', 'Odd.'), 'message', { value: 7 })
    })
    expect(row).toMatchObject({ status: 'RETRY_SCHEDULED', attempt: 1 })
  })
  test('a failure that asks for a wait which is no number', async () => {
    const failure = new Failure('THROTTLED', 'x.slow', 'Slow.', { retryAfterMs: Number('soon') })
    const row = await become(async () => {
      throw failure
    })
    expect(row).toMatchObject({ status: 'RETRY_SCHEDULED', attempt: 1 })
  })
})

test('J63 handlers that hang inside their transaction do not keep the others from theirs', async () => {
  const hung = testJob('test.hung', {
    timeoutMs: 300,
    policy: { delaysMs: [60_000], jitter: 0 },
    run: (_, context) => context.transaction(() => new Promise<JobResult>(() => {})),
    onOutcome: async () => {},
  })
  const good = testJob('test.good', { run: (_, context) => context.transaction(async () => succeeded()) })
  const hanging = await enqueueNumbers(db, hung, range(8))
  const { signals } = await engines.start([hung, good])
  await signals.first('BEGAN')
  const [id] = await enqueueNumbers(db, good, [1])
  await signals.first('ENDED', (signal) => signal.jobId === id)
  for (const job of hanging) await signals.first('ENDED', (signal) => signal.jobId === job)
  expect(await finished(db, id!)).toMatchObject({ status: 'SUCCEEDED' })
  expect((await waiting(db, hanging[0]!))!.status).toBe('RETRY_SCHEDULED')
}, 15_000)

test('a step inside a transaction is refused at once: it would wait for the row that the transaction holds', async () => {
  const row = await become((_, context) =>
    context.transaction(async () => {
      await context.step(async () => {})
      return succeeded()
    }),
  )
  expect(row).toMatchObject({ status: 'RETRY_SCHEDULED', attempt: 1 })
}, 8_000)

test('J56 a job that hangs its batch does not spend the attempts of the others', async () => {
  const many = testJob('test.batch_hung', {
    timeoutMs: 400,
    policy: { delaysMs: [0], jitter: 0 },
    runMany: async (jobs) => {
      if (jobs.some(({ payload }) => payload.n === 3)) await new Promise(() => {})
      return jobs.map(() => succeeded())
    },
  })
  const ids = await enqueueNumbers(db, many, range(8))
  const { signals } = await engines.start([many])
  for (const id of ids)
    await signals.first('ENDED', (signal) => signal.jobId === id && /SUCCEEDED|FAILED/.test(signal.status))
  const ends = await Promise.all(ids.map(async (id) => (await finished(db, id))!.status))
  expect(ends.filter((status) => status === 'SUCCEEDED')).toHaveLength(7)
}, 15_000)
