import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Database } from '../../src/database/index.ts'
import { cancelJobs, enqueueMany, type Jobs, startJobs } from '../../src/jobs/index.ts'
import { useDatabase } from '../harness/database.ts'
import { hasPgBouncer, type Pooler, startPooler } from '../harness/pooler.ts'
import { crashingJob, effectJob, noopJob } from './fixtures/definitions.ts'
import { enqueueNumbers, finished, OTHER_TENANT, range, TENANT } from './support.ts'
import { DEFINITIONS, useEffects } from './threads-support.ts'

/** Far fewer than two threads open, so that every session changes places between transactions. */
const SHARED_CONNECTIONS = 4
const JOBS = 400

const db = useDatabase()
const effects = useEffects(db)

describe.skipIf(!hasPgBouncer)(
  'jobs behind PgBouncer in transaction mode (skipped: pgbouncer is not installed)',
  () => {
    let pooler: Pooler
    let through: Database
    const running: Jobs[] = []

    beforeAll(async () => {
      const { rows } = await db.pool.query('select current_database() as name')
      for (const [name, value] of Object.entries({
        timezone: 'UTC',
        statement_timeout: '30s',
        lock_timeout: '10s',
        idle_in_transaction_session_timeout: '60s',
      }))
        await db.pool.query(`alter database ${rows[0].name} set ${name} = '${value}'`)
      pooler = await startPooler(db.url, SHARED_CONNECTIONS)
      through = new Database({ url: pooler.url, max: 8, applicationName: 'through', preparedStatements: false })
    })
    afterAll(async () => {
      for (const jobs of running) await jobs.stop(5_000)
      await through.close()
      await pooler.stop()
    })

    const start = async () => {
      const problems: string[] = []
      const say = (_: object, message: string) => void problems.push(message)
      const jobs = await startJobs({
        databaseUrl: pooler.url,
        preparedStatements: false,
        threads: 2,
        definitionsModule: DEFINITIONS,
        logger: { info() {}, warn: say, error: say },
        leaseMs: 6_000,
      })
      running.push(jobs)
      return { jobs, problems }
    }

    const request = (n: number) => ({
      tenantId: n % 2 === 0 ? TENANT : OTHER_TENANT,
      payload: { n },
      correlationId: `corr-${n}`,
      triggeredBy: 'tester',
      idempotencyKey: `pooled ${n}`,
    })

    test('J08 J105 threads, transactions, keys, leases and schedules share four connections', async () => {
      const { problems } = await start()
      const numbers = range(JOBS)
      await through.transaction(TENANT, async (tx) => void (await enqueueMany(tx, effectJob, numbers.map(request))))
      const again = await enqueueMany(through, effectJob, numbers.map(request))
      expect(again.some((job) => job.created)).toBe(false)
      await enqueueNumbers(db, noopJob, numbers)
      await expect.poll(effects.left, { timeout: 40_000 }).toBe(0)
      expect(await effects.of(numbers)).toEqual(numbers.map((n) => ({ n, status: 'SUCCEEDED', times: 1 })))
      expect(await effects.double()).toEqual([])
      await expect
        .poll(async () => (await db.pool.query('select from job_slot')).rowCount, { timeout: 15_000 })
        .toBeGreaterThan(0)
      expect(problems).toEqual([])
    }, 60_000)

    test('J63 a thread that crashes, and a cancel, behind the pooler', async () => {
      const [crashed] = await enqueueNumbers(db, crashingJob, [10_000])
      const [cancelled] = await enqueueNumbers(db, effectJob, [10_001], { delayMs: 60_000 })
      const request = { tenantId: TENANT, jobIds: [cancelled!], reason: 'enough', actor: 'anna' }
      await through.transaction(TENANT, async (tx) => void (await cancelJobs(tx, request)))
      expect(await finished(db, cancelled!)).toMatchObject({ status: 'CANCELLED' })
      await expect
        .poll(() => finished(db, crashed!), { timeout: 20_000 })
        .toMatchObject({ status: 'SUCCEEDED', attempt: 2 })
    }, 60_000)
  },
)
