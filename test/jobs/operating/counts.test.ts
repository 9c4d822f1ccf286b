import { expect, test } from 'vitest'
import type { Queryable } from '../../../src/database/index.ts'
import {
  actOnJob,
  cancelJobs,
  countJobs,
  failed,
  type JobAct,
  JobActRefusedError,
  type JobCount,
  JobRegistry,
  postponed,
  rollUpCounts,
} from '../../../src/jobs/index.ts'
import { useDatabase } from '../../harness/database.ts'
import { enqueueNumbers, OTHER_TENANT, range, TENANT, testJob, useEngines } from '../support.ts'

const db = useDatabase()
const engines = useEngines(db)
const by = { actor: 'olga', reason: 'Test.', correlationId: 'op' }

/** What there is, counted the slow way. */
async function counted(on: Pick<Queryable, 'run'>, tenantId?: string): Promise<JobCount[]> {
  return on.run(
    {
      name: 'test.counted',
      text: `select type, status, sum(jobs)::float8 as jobs from (
          select tenant_id, type, status, count(*) as jobs from job group by 1, 2, 3
          union all select tenant_id, type, status, count(*) from job_finished group by 1, 2, 3
        ) c where $1::uuid is null or tenant_id = $1::uuid group by 1, 2 order by 1, 2`,
    },
    [tenantId ?? null],
  )
}

/** Both in one snapshot, whatever goes on beside it. */
const agree = (tenantId?: string) =>
  db.database.systemTransaction(
    async (tx) =>
      expect(await countJobs(tx, tenantId === undefined ? {} : { tenantId })).toEqual(await counted(tx, tenantId)),
    { isolation: 'RepeatableRead' },
  )

const dice = (seed: number) => () => {
  seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
  return seed / 2 ** 32
}

const ALLOWED = [
  'SCHEDULED SCHEDULED',
  'SCHEDULED CANCELLED',
  'RETRY_SCHEDULED RETRY_SCHEDULED',
  'RETRY_SCHEDULED CANCELLED',
  'PROCESSING SUCCEEDED',
  'PROCESSING RETRY_SCHEDULED',
  'PROCESSING FAILED',
  'PROCESSING CANCELLED',
  'PROCESSING SCHEDULED',
  'FAILED SCHEDULED',
  'FAILED CANCELLED',
]

test('J10 J33 J85 counts are exact in every moment of random histories, whoever adds them up and when', async () => {
  const random = dice(20261201)
  const definitions = ['counts.a', 'counts.b'].map((type) =>
    testJob(type, {
      policy: { maxAttempts: 2, delaysMs: [0] },
      run: async () => {
        const roll = random()
        if (roll < 0.25) return failed('counts.no', 'It cannot be.')
        if (roll < 0.4) throw new Error('once more')
        if (roll < 0.5) return postponed(0, 'counts.later')
        return { kind: 'SUCCEEDED' }
      },
    }),
  )
  const parts = { database: db.database, registry: new JobRegistry(definitions) }
  await engines.start(definitions)
  await engines.start(definitions)
  let jobs = 0
  for (let round = 0; round < 12; round++) {
    const ids: string[] = []
    for (const definition of definitions)
      ids.push(
        ...(await enqueueNumbers(db, definition, range(15), () => ({
          tenantId: random() < 0.5 ? TENANT : OTHER_TENANT,
          delayMs: random() < 0.2 ? 3_600_000 : 0,
        }))),
      )
    jobs += ids.length
    const acts: readonly JobAct[] = ['RETRY', 'HANDLE', 'CANCEL', 'RUN_NOW']
    await Promise.all([
      cancelJobs(db.database, { tenantId: TENANT, jobIds: ids.slice(0, 3), reason: 'test', actor: 'test' }),
      ...ids.slice(3, 9).map((id) =>
        actOnJob(parts, acts[Math.floor(random() * acts.length)]!, id, by).catch((error: unknown) => {
          if (!(error instanceof JobActRefusedError)) throw error
        }),
      ),
      rollUpCounts(db.database),
      rollUpCounts(db.database),
      agree(),
      agree(TENANT),
    ])
    await agree()
  }
  const { rows: over } = await db.pool.query<{ id: string }>(`select id from job_finished where status = 'FAILED'`)
  await Promise.all(over.slice(0, 10).map(({ id }) => actOnJob(parts, 'RETRY', id, by)))
  await rollUpCounts(db.database)
  await agree()
  // Whatever was done to them, no job went a way that is not among the allowed ones (J33; an act may leave it where it is).
  const { rows: ways } = await db.pool.query<{ way: string }>(
    `select distinct "from" || ' ' || "to" as way from job_event`,
  )
  expect(ALLOWED).toEqual(expect.arrayContaining(ways.map(({ way }) => way)))
  const total = (await countJobs(db.database)).reduce((sum, count) => sum + count.jobs, 0)
  expect(total).toBe(jobs)
})

test('a transaction that stays open keeps nothing from being added up', async () => {
  const job = testJob('counts.held')
  const holder = await db.pool.connect()
  try {
    await holder.query('begin')
    // A transaction id, as a long import has one: the watermark stands still from here on.
    await holder.query('select pg_current_xact_id()')
    const ids = await enqueueNumbers(db, job, range(5), { delayMs: 60_000 })
    await cancelJobs(db.database, { tenantId: TENANT, jobIds: ids, reason: 'test', actor: 'test' })
    await rollUpCounts(db.database)
    const { rows } = await db.pool.query(`select status, jobs::int from job_count where type = 'counts.held'`)
    expect(rows).toEqual([{ status: 'CANCELLED', jobs: 5 }])
    // What that transaction itself ends is counted when it commits.
    const [late] = await enqueueNumbers(db, job, [9], { delayMs: 60_000 })
    await cancelJobs(
      { run: async (statement, values) => (await holder.query(statement.text, values as unknown[])).rows },
      { tenantId: TENANT, jobIds: [late!], reason: 'test', actor: 'test' },
    )
    await rollUpCounts(db.database)
    await agree()
    await holder.query('commit')
  } finally {
    holder.release(true)
  }
  await agree()
  await rollUpCounts(db.database)
  await agree()
  expect(await countJobs(db.database, { types: ['counts.held'] })).toEqual([
    { type: 'counts.held', status: 'CANCELLED', jobs: 6 },
  ])
})

test('what retention removes leaves the counts with it; failed jobs stay in both', async () => {
  const job = testJob('counts.old')
  const ids = await enqueueNumbers(db, job, range(6), { delayMs: 60_000 })
  await cancelJobs(db.database, { tenantId: TENANT, jobIds: ids, reason: 'test', actor: 'test' })
  // Three into a week of their own, long ago, one of them failed; the others stay.
  await db.pool.query(`create table job_finished_2020w10 partition of job_finished
    for values from ('2020-03-02') to ('2020-03-09')`)
  await db.pool.query(
    `update job_finished set finished_at = '2020-03-03', status = case id when $2 then 'FAILED' else status end
    where id = any($1::uuid[])`,
    [ids.slice(0, 3), ids[0]],
  )
  await db.pool.query(`update job_count set jobs = jobs where type = 'counts.old'`)
  await rollUpCounts(db.database)
  // That one failed is news to the counts: this test wrote it past the engine.
  await db.pool.query(`update job_count set jobs = jobs - 1 where type = 'counts.old' and status = 'CANCELLED'`)
  await db.pool.query(`insert into job_count select $1, 'counts.old', 'FAILED', 1`, [TENANT])
  await agree()
  const { rows } = await db.pool.query(`select * from job_finished_drop_before('2020-06-01')`)
  expect(rows).toHaveLength(1)
  await agree()
  expect(await countJobs(db.database, { types: ['counts.old'] })).toEqual([
    { type: 'counts.old', status: 'CANCELLED', jobs: 3 },
    { type: 'counts.old', status: 'FAILED', jobs: 1 },
  ])
  await db.pool.query(`update job_finished set status = 'CANCELLED' where id = $1`, [ids[0]])
  await db.pool.query(
    `update job_count set jobs = case status when 'FAILED' then 0 else jobs + 1 end where type = 'counts.old'`,
  )
  await db.pool.query(`select job_finished_drop_before('2020-06-01')`)
  await agree()
})

test('counts go on after a new epoch of the log', async () => {
  const job = testJob('counts.epoch')
  const ids = await enqueueNumbers(db, job, range(4), { delayMs: 60_000 })
  const cancel = (jobIds: string[]) =>
    cancelJobs(db.database, { tenantId: TENANT, jobIds, reason: 'test', actor: 'test' })
  await cancel(ids.slice(0, 1))
  await rollUpCounts(db.database)
  await cancel(ids.slice(1, 2))
  await db.pool.query(`select event_log_raise_epoch('test', 'a restore')`)
  await cancel(ids.slice(2, 3))
  await agree()
  await rollUpCounts(db.database)
  await cancel(ids.slice(3))
  await agree()
  await rollUpCounts(db.database)
  await agree()
})

test('adding up reads what came since, however long the log is', async () => {
  await db.pool.query(
    `insert into job_event (epoch, job_id, tenant_id, type, attempt, claim_epoch, "from", "to", actor, correlation_id)
     select event_log_current_epoch(), gen_random_uuid(), $1, 'counts.long', 1, 1, 'PROCESSING', 'SUCCEEDED', 'system', 'c'
     from generate_series(1, 30000)`,
    [TENANT],
  )
  await rollUpCounts(db.database)
  const client = await db.pool.connect()
  try {
    const explain = async () => {
      const { rows } = await client.query(
        `explain (analyze, buffers, format json)
         select since.* from job_count_position p cross join lateral job_count_since(p.epoch, p.snapshot) since`,
      )
      const plan = rows[0]['QUERY PLAN'][0].Plan
      return plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
    }
    // A connection's first time reads the catalogue.
    await explain()
    expect(await explain()).toBeLessThan(50)
  } finally {
    client.release()
  }
})
