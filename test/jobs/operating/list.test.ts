import { beforeAll, expect, test } from 'vitest'
import { v7 as uuidv7 } from 'uuid'
import type { Queryable } from '../../../src/database/index.ts'
import {
  actOnJob,
  failed,
  type JobFilter,
  JobRegistry,
  jobsById,
  listJobs,
  redactedPayload,
  summariseFinished,
} from '../../../src/jobs/index.ts'
import { finishedThatFit } from '../../../src/jobs/operating/list.ts'
import { listing } from '../../../src/jobs/sql/list-jobs.ts'
import { useDatabase } from '../../harness/database.ts'
import { enqueueNumbers, OTHER_TENANT, range, TENANT, testJob, useEngines, waiting } from '../support.ts'

const db = useDatabase()
const engines = useEngines(db)
const by = { actor: 'olga', reason: 'Test.', correlationId: 'op' }

// Ends as its number says: by tens, so that every status has several.
const mixed = testJob('list.mixed', {
  policy: { maxAttempts: 2, delaysMs: [3_600_000] },
  run: async ({ n }) => {
    if (n % 4 === 1) return failed(n % 8 === 1 ? 'list.odd' : 'list.even', 'It cannot be.')
    if (n % 4 === 2) throw new Error('once more')
    return { kind: 'SUCCEEDED' }
  },
})
const later = testJob('list.later')
let ids: string[]

beforeAll(async () => {
  ids = await enqueueNumbers(db, mixed, range(24), (n) => ({ tenantId: n % 3 === 0 ? OTHER_TENANT : TENANT }))
  ids.push(...(await enqueueNumbers(db, later, range(6), { delayMs: 3_600_000, tenantId: null })))
  const { engine, signals, database } = await engines.start([mixed])
  await signals.ended(24)
  await engine.stop(500)
  await database.close()
})

const list = async (filter: JobFilter, limit = 100) =>
  (await listJobs(db.database, filter, { limit })).rows.map((row) => row.jobId)

test('J10 jobs of every status are listed newest first, in pages that meet without a gap', async () => {
  const newest = ids.toSorted().reverse()
  expect(await list({})).toEqual(newest)
  const forward: string[] = []
  for (let after: string | undefined; ; ) {
    const page = await listJobs(db.database, {}, { limit: 7, ...(after === undefined ? {} : { after }) })
    forward.push(...page.rows.map((row) => row.jobId))
    if (!page.hasMore) break
    after = page.rows.at(-1)!.jobId
  }
  expect(forward).toEqual(newest)
  const back = await listJobs(db.database, {}, { limit: 7, before: newest[10]! })
  expect(back).toMatchObject({ hasMore: true })
  expect(back.rows.map((row) => row.jobId)).toEqual(newest.slice(3, 10))
  for (const page of [{ limit: 0 }, { limit: 101 }, { limit: 1, after: newest[0]!, before: newest[1]! }])
    await expect(listJobs(db.database, {}, page)).rejects.toThrow(RangeError)
})

test('J10 J85 J106 every filter finds what fits, and nothing else', async () => {
  const { rows } = await listJobs(db.database, {}, { limit: 100 })
  const { rows: times } = await db.pool.query<{ middle: Date }>(
    'select created_at + (finished_at - created_at) / 2 as middle from job_finished order by id limit 1',
  )
  const { middle } = times[0]!
  const one = rows.find((row) => row.status === 'FAILED')!
  const filters: [JobFilter, (row: (typeof rows)[number]) => boolean][] = [
    [{ types: ['list.mixed'] }, (row) => row.type === 'list.mixed'],
    [{ types: ['list.mixed', 'list.later'] }, () => true],
    [{ types: [] }, () => false],
    [{ statuses: ['FAILED'] }, (row) => row.status === 'FAILED'],
    [{ statuses: ['RETRY_SCHEDULED'] }, (row) => row.status === 'RETRY_SCHEDULED'],
    [{ statuses: ['SCHEDULED', 'SUCCEEDED'] }, (row) => ['SCHEDULED', 'SUCCEEDED'].includes(row.status)],
    [{ statuses: [] }, () => false],
    [{ tenantId: TENANT }, (row) => row.tenantId === TENANT],
    [{ tenantId: null }, (row) => row.tenantId === null],
    [{ tenantId: uuidv7() }, () => false],
    [
      { tenantId: OTHER_TENANT, statuses: ['FAILED'] },
      (row) => row.tenantId === OTHER_TENANT && row.status === 'FAILED',
    ],
    [{ tenantId: uuidv7(), statuses: ['FAILED'], types: ['list.mixed'] }, () => false],
    [{ createdAfter: one.createdAt, types: ['list.later'] }, (row) => row.type === 'list.later'],
    [{ createdBefore: new Date(0) }, () => false],
    [{ finishedAfter: middle }, (row) => row.finishedAt !== null && row.finishedAt >= middle],
    [{ finishedBefore: middle }, (row) => row.finishedAt !== null && row.finishedAt < middle],
    [{ dueBefore: new Date('9000-01-01') }, (row) => row.dueAt !== null],
    [{ dueBefore: middle }, () => false],
    [{ held: false, types: ['list.later'] }, (row) => row.type === 'list.later'],
    [{ code: 'list.odd' }, (row) => row.failure?.code === 'list.odd'],
    [{ code: 'job.unexpected' }, (row) => row.status === 'RETRY_SCHEDULED'],
    [
      { types: ['list.mixed', 'list.later'], statuses: ['FAILED', 'CANCELLED'] },
      (row) => ['FAILED', 'CANCELLED'].includes(row.status),
    ],
    [
      { types: ['list.mixed', 'list.mixed', 'list.later'], code: 'list.odd' },
      (row) => row.failure?.code === 'list.odd',
    ],
    [{ failureClass: 'PERMANENT' }, (row) => row.failure?.class === 'PERMANENT'],
    [{ failureClass: 'TRANSIENT', tenantId: TENANT }, (r) => r.status === 'RETRY_SCHEDULED' && r.tenantId === TENANT],
    [{ correlationId: 'corr-5' }, (row) => row.correlationId === 'corr-5'],
    [{ batchId: uuidv7() }, () => false],
  ]
  for (const [filter, fits] of filters)
    expect(await list(filter), JSON.stringify(filter)).toEqual(rows.filter(fits).map((row) => row.jobId))
})

test('J23 J88 a failed job shows type, attempt, correlation id, category, code and when', async () => {
  const [id] = await list({ statuses: ['FAILED'] }, 1)
  expect((await jobsById(db.database, [id!])).get(id!)).toMatchObject({
    type: 'list.mixed',
    status: 'FAILED',
    attempt: 1,
    maxAttempts: 2,
    failure: { class: 'PERMANENT', message: 'It cannot be.' },
    finishedAt: expect.any(Date),
    correlationId: expect.stringMatching(/^corr-/),
    dueAt: null,
    workerId: null,
  })
  const [retrying] = await list({ statuses: ['RETRY_SCHEDULED'] }, 1)
  expect((await jobsById(db.database, [retrying!])).get(retrying!)).toMatchObject({
    failure: { class: 'TRANSIENT', code: 'job.unexpected' },
    dueAt: expect.any(Date),
  })
})

test('J74 J89 a list holds no payload; asked for, it has its fields but none of its texts', async () => {
  const secretive = testJob('list.secretive') as never as Parameters<typeof enqueueNumbers>[1]
  const [id] = await enqueueNumbers(db, secretive, [7], { delayMs: 60_000 })
  await db.pool.query('update job set payload = $2 where id = $1', [
    id,
    {
      n: 7,
      on: true,
      personId: '0193A000-0000-7000-8000-00000000000a',
      at: '2026-12-01T10:00:00.000Z',
      day: '2026-12-01',
      name: 'Jansen',
      list: ['a b', 3, null, { note: '0193a000-0000-7000-8000-00000000000a?' }],
    },
  ])
  expect(JSON.stringify(await listJobs(db.database, { types: ['list.secretive'] }, { limit: 1 }))).not.toContain(
    'Jansen',
  )
  expect(await redactedPayload(db.database, id!)).toEqual({
    n: 7,
    on: true,
    personId: '0193A000-0000-7000-8000-00000000000a',
    at: '2026-12-01T10:00:00.000Z',
    day: '2026-12-01',
    name: '[text of 6 characters]',
    list: ['[text of 3 characters]', 3, null, { note: '[text of 37 characters]' }],
  })
  expect(await redactedPayload(db.database, uuidv7())).toBeNull()
})

test('reading locks nothing: a job that somebody reads is claimed all the same', async () => {
  const [id] = await enqueueNumbers(db, testJob('list.read'), [1], { delayMs: 3_600_000 })
  const reader = await db.pool.connect()
  try {
    await reader.query('begin')
    await listJobs(
      { run: async (statement, values) => (await reader.query(statement.text, values as unknown[])).rows },
      {},
      { limit: 100 },
    )
    const { rows } = await db.pool.query('select id from job where id = $1 for update nowait', [id])
    expect(rows).toHaveLength(1)
  } finally {
    await reader.query('rollback')
    reader.release()
  }
})

test('a job that ends while the list is read is listed, also when it is the first of its tenant', async () => {
  const tenantId = uuidv7()
  const [id] = await enqueueNumbers(db, later, [1], { tenantId, delayMs: 3_600_000 })
  const parts = { database: db.database, registry: new JobRegistry([later]) }
  let cancelled = false
  const between: Queryable = {
    run: async (statement, values) => {
      const rows = await db.database.run(statement, values)
      // After the counts, which say that the tenant has no finished jobs, and before the list.
      if (!cancelled) await actOnJob(parts, 'CANCEL', id!, by)
      cancelled = true
      return rows
    },
  }
  const { rows } = await listJobs(between, { tenantId }, { limit: 10 })
  expect(rows.map(({ jobId, status }) => [jobId, status])).toEqual([[id, 'CANCELLED']])
})

test('held jobs can be told apart and found', async () => {
  const [id] = await enqueueNumbers(db, later, [1], { delayMs: 60_000 })
  await actOnJob({ database: db.database, registry: new JobRegistry([later]) }, 'HOLD', id!, by)
  expect(await list({ held: true })).toEqual([id])
  expect(await list({ dueBefore: new Date('9999-12-31'), types: ['list.later'] })).not.toContain(id)
  expect(await waiting(db, id!)).toMatchObject({ status: 'SCHEDULED' })
})

test('searches by value read few pages however many finished jobs there are', async () => {
  const many = 60_000
  await db.pool.query(
    `insert into job_finished (id, tenant_id, type, status, urgency, attempt, lost, claim_epoch, policy_id, created_at,
       failure_class, code, correlation_id, triggered_by, display_name, payload)
     select (lpad(to_hex(1700000000000 + n), 12, '0') || '70008' || lpad(to_hex(n), 15, '0'))::uuid, $1,
       case when n = 7777 then 'list.rare' else 'list.bulk' end, case when n % 500 = 0 then 'FAILED' else 'SUCCEEDED' end,
       0, 1, 0, 1, (select id from job_policy limit 1), now(), case when n % 500 = 0 then 'TIMEOUT' end,
       case when n % 500 = 0 then 'job.timeout' end, 'many-' || n, 'system', 'one of many', '{}'
     from generate_series(1, $2::int) n`,
    [TENANT, many],
  )
  expect(await summariseFinished(db.database)).toBeGreaterThan(10)
  await db.pool.query('analyze job_finished')
  const { rows: size } = await db.pool.query<{ pages: number }>(
    `select sum(pg_relation_size(inhrelid) / 8192)::int as pages from pg_inherits where inhparent = 'job_finished'::regclass`,
  )
  const whole = size[0]!.pages
  const filters: readonly JobFilter[] = [
    {},
    { statuses: ['FAILED'] },
    { statuses: ['FAILED'], types: ['list.bulk'] },
    { statuses: ['FAILED'], tenantId: TENANT, failureClass: 'TIMEOUT' },
    { types: ['list.rare'] },
    { types: ['list.bulk'] },
    { types: ['list.nobody'] },
    { correlationId: 'many-4242' },
    { code: 'job.timeout' },
    { tenantId: TENANT, types: ['list.nobody'] },
    { statuses: ['FAILED'], types: ['list.rare', 'list.nobody'] },
    { failureClass: 'LOST' },
    { tenantId: uuidv7() },
  ]
  for (const filter of filters) {
    const place = { after: null, newestFirst: true, limit: 21 }
    const { statement, values } = listing(filter, place, await finishedThatFit(db.database, filter))
    const { rows } = await db.pool.query(
      `explain (analyze, buffers, format json) ${statement.text}`,
      values as unknown[],
    )
    const plan = rows[0]['QUERY PLAN'][0].Plan
    expect(plan['Shared Hit Blocks'] + plan['Shared Read Blocks'], JSON.stringify(filter)).toBeLessThan(whole / 4)
  }
})
