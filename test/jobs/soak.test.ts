import { expect, test } from 'vitest'
import { attemptsOfJobs, failed, jobStates } from '../../src/jobs/index.ts'
import { useDatabase } from '../harness/database.ts'
import { soak } from './soak.ts'
import { enqueueNumbers, finished, range, TENANT, testJob, useEngines } from './support.ts'
import { useEffects } from './threads-support.ts'

const db = useDatabase()
const effects = useEffects(db)
const engines = useEngines(db)

test(
  'pain 47 pain 19 5,000 jobs leave nothing behind but their history',
  () => soak(db, effects, { jobs: 5_000, readEvery: 1_000 }),
  60_000,
)

test('pain 9 numbers beyond two and four thousand million', async () => {
  const { rows } = await db.pool.query(
    `select format('%I.%I', schemaname, sequencename) as name from pg_sequences where schemaname = 'public'`,
  )
  expect(rows.length).toBeGreaterThan(0)
  const job = testJob('test.far', {
    policy: { delaysMs: [0] },
    run: async ({ n }, { attempt }) => {
      if (attempt === 1) throw new Error('the first time')
      return failed('test.far', `${n}`)
    },
  })
  const { signals } = await engines.start([job])
  for (const power of [31, 32]) {
    for (const { name } of rows) await db.pool.query('select setval($1, $2)', [name, String(2 ** power - 2)])
    const ids = await enqueueNumbers(db, job, range(4))
    await signals.ended(8 * (power - 30))
    for (const id of ids) expect(await finished(db, id)).toMatchObject({ status: 'FAILED', attempt: 2 })
    const attempts = await attemptsOfJobs(db.database, TENANT, ids)
    for (const id of ids) expect(attempts.get(id)).toMatchObject([{ to: 'RETRY_SCHEDULED' }, { to: 'FAILED' }])
    expect((await jobStates(db.database, TENANT, ids)).size).toBe(4)
    const { rows: highest } = await db.pool.query('select max(id)::float8 as id from job_event')
    expect(highest[0].id).toBeGreaterThan(2 ** power)
  }
})
