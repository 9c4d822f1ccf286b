import { expect, test } from 'vitest'
import { Failure, NotFoundError } from '../../src/errors/index.ts'
import { batchDone, batchResult, type CandidateOutcome, eachCandidate } from '../../src/jobs/index.ts'
import { useDatabase } from '../harness/database.ts'
import { enqueueNumbers, finished, OTHER_TENANT, range, TENANT, testJob, useEngines } from './support.ts'

const db = useDatabase()
const engines = useEngines(db)

/** A context whose log can be read. */
function listening(signal = new AbortController().signal) {
  const said: object[] = []
  const log = { info() {}, warn: (fields: object) => void said.push(fields), error() {} }
  return { said, context: { log, signal } }
}

test('J57 Found is Processed + Skipped + Failed, or there is no result', () => {
  const counts = { found: 124, processed: 121, skipped: 2, failed: 1 }
  expect(batchResult(counts)).toEqual(counts)
  expect(() => batchResult({ ...counts, processed: 120 })).toThrow('got lost or counted twice')
  expect(() => batchResult({ ...counts, found: 126, failed: 3.5 })).toThrow('whole numbers')
  expect(() => batchResult({ found: 0, processed: 1, skipped: -1, failed: 0 })).toThrow('whole numbers')
})

test('J56 J58 a candidate that throws is counted and logged by its id and code; the others go on', async () => {
  const { said, context } = listening()
  const handled: number[] = []
  const result = await eachCandidate(context, range(7), String, async (n): Promise<CandidateOutcome> => {
    if (n === 2) throw new Failure('TRANSIENT', 'test.busy', 'It is busy.')
    if (n === 4) throw new NotFoundError('The draft')
    handled.push(n)
    return n % 3 === 0 ? 'SKIPPED' : 'PROCESSED'
  })
  expect(result).toEqual({ found: 7, processed: 2, skipped: 3, failed: 2 })
  expect(handled).toEqual([0, 1, 3, 5, 6])
  expect(said).toMatchObject([
    { candidate: '2', code: 'test.busy', failureClass: 'TRANSIENT' },
    { candidate: '4', failureClass: 'PERMANENT' },
    result,
  ])
})

test('J58 a thousand failures are all counted, and said a hundred times', async () => {
  const { said, context } = listening()
  const result = await eachCandidate(context, range(1_000), String, () => Promise.reject(new Error('no')))
  expect(result).toEqual({ found: 1_000, processed: 0, skipped: 0, failed: 1_000 })
  expect(said).toHaveLength(101)
})

test('what stops the whole run is no candidate’s failure', async () => {
  const controller = new AbortController()
  const { context } = listening(controller.signal)
  const stopped = eachCandidate(context, range(5), String, async (n) => {
    if (n === 1) controller.abort(new Error('the process stops'))
    return 'PROCESSED'
  })
  await expect(stopped).rejects.toThrow('the process stops')
  const away = Object.assign(new Error('gone'), { code: 'ECONNREFUSED' })
  await expect(eachCandidate(listening().context, range(5), String, () => Promise.reject(away))).rejects.toBe(away)
})

test('J57 J20 a run answers with its counts and its correlation id; it fails for its candidates only when told to', () => {
  const result = batchResult({ found: 3, processed: 1, skipped: 1, failed: 1 })
  expect(batchDone(result, 'corr-1')).toEqual({ kind: 'SUCCEEDED', output: { ...result, correlationId: 'corr-1' } })
  expect(() => batchDone(result, 'corr-1', { retryWhenFailed: true })).toThrow('1 of 3 candidates failed')
  const clean = { ...result, processed: 2, failed: 0 }
  expect(batchDone(clean, 'corr-1', { retryWhenFailed: true })).toMatchObject({ kind: 'SUCCEEDED' })
})

test('J56 J58 over the tenants: each in its own transaction, one that fails rolls back alone and the run says so', async () => {
  await db.pool.query('create table seen (tenant_id uuid not null, by text not null)')
  const job = testJob('test.over_tenants', {
    policy: { delaysMs: [0], maxAttempts: 2 },
    run: async (_payload, context) => {
      const result = await eachCandidate(context, [TENANT, OTHER_TENANT], String, (tenantId) =>
        context.stepFor(tenantId, async (tx): Promise<CandidateOutcome> => {
          expect(tx.tenantId).toBe(tenantId)
          await tx.query({ name: 'test.seen', text: 'insert into seen values ($1::uuid, $2)' }, [context.jobId])
          if (tenantId === TENANT) throw new Failure('TRANSIENT', 'test.no', 'not this one')
          return 'PROCESSED'
        }),
      )
      return batchDone(result, context.correlationId, { retryWhenFailed: true })
    },
  })
  const [id] = await enqueueNumbers(db, job, [1], { tenantId: null })
  const { signals } = await engines.start([job])
  await signals.ended(2)
  expect(await finished(db, id!)).toMatchObject({
    status: 'FAILED',
    attempt: 2,
    code: 'job.candidates_failed',
    message: '1 of 2 candidates failed; 1 were processed and 0 skipped.',
  })
  const { rows } = await db.pool.query('select tenant_id from seen')
  expect(rows).toEqual([{ tenant_id: OTHER_TENANT }, { tenant_id: OTHER_TENANT }])
})

test.each(['in a statement', 'between two', 'at the commit'])(
  'J57 a connection that is cut %s is no candidate’s failure: the run is made again, and its counts are whole',
  async (where) => {
    const attempts: number[] = []
    const job = testJob(`test.cut_${where.replaceAll(' ', '_')}`, {
      policy: { delaysMs: [0], maxAttempts: 2 },
      run: async (_payload, context) => {
        const result = await eachCandidate(context, range(5), String, (n) =>
          context.stepFor(TENANT, async (tx): Promise<CandidateOutcome> => {
            if (n !== 2 || context.attempt > 1) return 'PROCESSED'
            attempts.push(n)
            const [{ pid }] = (await tx.run({ name: 'test.pid', text: 'select pg_backend_pid() as pid' }, [])) as [
              { pid: number },
            ]
            const kill = () => db.pool.query('select pg_terminate_backend($1, 5000)', [pid])
            if (where === 'in a statement') {
              const sleeping = tx.run({ name: 'test.sleep', text: 'select pg_sleep(20)' }, [])
              await Promise.all([sleeping, kill()])
            }
            await kill()
            if (where === 'between two') await tx.run({ name: 'test.pid', text: 'select pg_backend_pid() as pid' }, [])
            return 'PROCESSED'
          }),
        )
        return batchDone(result, context.correlationId)
      },
    })
    const [id] = await enqueueNumbers(db, job, [1], { tenantId: null })
    const { signals } = await engines.start([job])
    await signals.ended(2)
    expect(attempts).toEqual([2])
    expect(await finished(db, id!)).toMatchObject({
      status: 'SUCCEEDED',
      attempt: 2,
      output: { found: 5, processed: 5, skipped: 0, failed: 0 },
    })
    const { rows } = await db.pool.query('select failure_class from job_event where job_id = $1 order by id', [id])
    expect(rows[0]).toEqual({ failure_class: 'TRANSIENT' })
  },
)

test('a job of a tenant cannot reach another one', async () => {
  let problem: unknown
  const job = testJob('test.reaches', {
    policy: { maxAttempts: 1 },
    run: async (_payload, context) => {
      problem = await context.stepFor(OTHER_TENANT, async () => 'reached').catch((error: unknown) => error)
      throw problem
    },
  })
  await enqueueNumbers(db, job, [1])
  const { signals } = await engines.start([job])
  await signals.ended(1)
  expect(String(problem)).toContain('Only a job of the installation')
})
