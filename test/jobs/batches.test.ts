import { expect, test } from 'vitest'
import { v7 as uuidv7 } from 'uuid'
import {
  actOnJob,
  batchesById,
  cancelBatch,
  cancelBatchByOperator,
  countsOfBatches,
  createBatch,
  enqueueMany,
  failed,
  type JobDefinition,
  type JobOutcome,
  JobRegistry,
  listActs,
  listBatches,
  listJobs,
} from '../../src/jobs/index.ts'
import { COUNT_BATCHES } from '../../src/jobs/sql/batches.ts'
import { useDatabase } from '../harness/database.ts'
import { enqueueNumbers, gate, OTHER_TENANT, range, TENANT, testJob, useEngines } from './support.ts'

const db = useDatabase()
const engines = useEngines(db)
const by = { actor: 'olga', reason: 'Started twice.', correlationId: 'op-1' }
type Definition = JobDefinition<{ n: number }>

const newBatch = (own: { tenantId?: string | null; label?: string } = {}) =>
  createBatch(db.database, {
    tenantId: TENANT,
    label: 'Workflow Execution: onboarding',
    correlationId: 'corr-b',
    triggeredBy: 'tester',
    ...own,
  })

test('what is over of a batch is counted from its index, without the rows', async () => {
  const batchId = await newBatch()
  await db.pool.query(
    `insert into job_finished (id, tenant_id, type, status, urgency, attempt, lost, claim_epoch, policy_id, created_at,
       correlation_id, triggered_by, display_name, payload, batch_id)
     select gen_random_uuid(), $1, 'batch.large', case when n % 5 = 0 then 'FAILED' else 'SUCCEEDED' end, 0, 1, 0, 1, 1, now(),
       'c', 't', 'd', '{}', case when n % 10 < 2 then $2::uuid end
     from generate_series(1, 20000) n`,
    [TENANT, batchId],
  )
  await db.pool.query('vacuum analyze job_finished')
  expect((await countsOfBatches(db.database, [batchId])).get(batchId)).toEqual({ FAILED: 2_000, SUCCEEDED: 2_000 })
  const { rows } = await db.pool.query(`explain (analyze, format json) ${COUNT_BATCHES.text}`, [
    JSON.stringify([batchId]),
  ])
  expect(JSON.stringify(rows)).toContain('Index Only Scan')
  expect(JSON.stringify(rows)).not.toContain('Bitmap Heap Scan')
})

test('a batch has a label, its jobs, and how many stand where', async () => {
  const batchId = await newBatch()
  const job = testJob('batch.mixed', {
    run: async ({ n }) => (n % 2 === 0 ? { kind: 'SUCCEEDED' } : failed('a.b', 'no')),
  })
  const ids = await enqueueNumbers(db, job, range(6), { batchId })
  await enqueueNumbers(db, job, range(3), { batchId, delayMs: 3_600_000 })
  await enqueueNumbers(db, job, range(2))
  expect(await countsOfBatches(db.database, [batchId])).toEqual(new Map([[batchId, { SCHEDULED: 9 }]]))
  const { signals } = await engines.start([job])
  await signals.ended(8)
  const other = await newBatch()
  expect(await countsOfBatches(db.database, [batchId, other])).toEqual(
    new Map([
      [batchId, { SCHEDULED: 3, SUCCEEDED: 3, FAILED: 3 }],
      [other, {}],
    ]),
  )
  expect((await batchesById(db.database, [batchId, uuidv7()])).get(batchId)).toMatchObject({
    batchId,
    tenantId: TENANT,
    label: 'Workflow Execution: onboarding',
    cancelledAt: null,
  })
  const { rows } = await listJobs(db.database, { batchId, statuses: ['FAILED', 'SUCCEEDED'] }, { limit: 10 })
  expect(rows.map(({ jobId }) => jobId)).toEqual(ids.toSorted().reverse())
  // A retry stays in the batch.
  const parts = { database: db.database, registry: new JobRegistry([job]) }
  const failedJob = rows.find(({ status }) => status === 'FAILED')!
  expect((await actOnJob(parts, 'RETRY', failedJob.jobId, by)).job.batchId).toBe(batchId)
})

test('a batch belongs to its tenant: nobody else sees it, fills it or cancels it', async () => {
  const batchId = await newBatch({ tenantId: OTHER_TENANT })
  expect(await batchesById(db.database, [batchId], { tenantId: TENANT })).toEqual(new Map())
  await expect(enqueueNumbers(db, testJob('batch.foreign'), [1], { batchId })).rejects.toMatchObject({
    code: 'job.batch_not_found',
  })
  await expect(
    cancelBatch(db.database, { tenantId: TENANT, batchId, reason: 'mine', actor: 'x' }),
  ).rejects.toMatchObject({ code: 'job.batch_not_found' })
  expect((await batchesById(db.database, [batchId])).get(batchId)!.cancelledAt).toBeNull()
  const mine = (await listBatches(db.database, { tenantId: TENANT }, { limit: 100 })).rows
  expect(mine.every(({ tenantId }) => tenantId === TENANT)).toBe(true)
})

test('batches are listed newest first, in pages', async () => {
  const made: string[] = []
  for (const n of range(5)) made.unshift(await newBatch({ tenantId: null, label: `nightly ${n}` }))
  const first = await listBatches(db.database, { tenantId: null }, { limit: 2 })
  expect(first).toMatchObject({ hasMore: true, rows: [{ label: 'nightly 4' }, { label: 'nightly 3' }] })
  const rest = await listBatches(db.database, { tenantId: null }, { limit: 100, after: made[1]! })
  expect(rest.rows.map(({ batchId }) => batchId)).toEqual(made.slice(2))
  await cancelBatch(db.database, { tenantId: null, batchId: made[0]!, reason: 'x', actor: 'y' })
  const open = await listBatches(db.database, { tenantId: null, cancelled: false }, { limit: 100 })
  expect(open.rows.map(({ batchId }) => batchId)).toEqual(made.slice(1))
})

test.each(['', '   ', 'x'.repeat(201)])('a label says something, and not too much: "%s"', async (label) => {
  await expect(newBatch({ label })).rejects.toMatchObject({ name: 'ValidationError', path: ['label'] })
})

test('K8 cancelling a batch cancels what waits, stops what runs, and takes nothing in any more', async () => {
  const batchId = await newBatch()
  const aborted = gate()
  const job = testJob('batch.cancel', {
    run: async (_, { signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      aborted.open()
      signal.throwIfAborted()
      return { kind: 'SUCCEEDED' }
    },
  })
  const [running] = await enqueueNumbers(db, job, [0], { batchId })
  const waiting = await enqueueNumbers(db, job, range(3), { batchId, delayMs: 3_600_000 })
  const { signals } = await engines.start([job])
  await signals.first('BEGAN')
  const request = { tenantId: TENANT, batchId, reason: 'Started twice.', actor: 'tester' }
  const { cancelled, signalled } = await cancelBatch(db.database, request)
  expect(cancelled.toSorted()).toEqual(waiting.toSorted())
  expect(signalled).toEqual([running])
  await aborted.promise
  await signals.first('ENDED', ({ status }) => status === 'CANCELLED')
  expect(await countsOfBatches(db.database, [batchId])).toEqual(new Map([[batchId, { CANCELLED: 4 }]]))
  await expect(enqueueNumbers(db, job, [9], { batchId })).rejects.toMatchObject({ code: 'job.batch_cancelled' })
  expect(await cancelBatch(db.database, { ...request, reason: 'again' })).toEqual({ cancelled: [], signalled: [] })
  expect((await batchesById(db.database, [batchId])).get(batchId)).toMatchObject({
    cancelledBy: 'tester',
    cancelReason: 'Started twice.',
  })
})

test('a job that failed in a batch that was cancelled is not tried again', async () => {
  const batchId = await newBatch()
  const job = testJob('batch.retry', { run: async () => failed('a.b', 'no') })
  const [id] = await enqueueNumbers(db, job, [1], { batchId })
  const { signals } = await engines.start([job])
  await signals.ended(1)
  await cancelBatch(db.database, { tenantId: TENANT, batchId, reason: 'x', actor: 'y' })
  await expect(
    actOnJob({ database: db.database, registry: new JobRegistry([job]) }, 'RETRY', id!, by),
  ).rejects.toMatchObject({ code: 'job.batch_cancelled', status: 'FAILED' })
})

test('J75 J76 an operator’s cancel of a batch is audited, told to the domains, and the same again', async () => {
  const told: JobOutcome<{ n: number }>[] = []
  const batchId = await newBatch()
  const job: Definition = testJob('batch.operator', { onOutcome: async (_tx, outcomes) => void told.push(...outcomes) })
  await enqueueNumbers(db, job, range(4), { batchId, delayMs: 3_600_000 })
  const parts = { database: db.database, registry: new JobRegistry([job]) }
  const request = { batchId, bulkId: uuidv7() }
  expect(await cancelBatchByOperator(parts, request, by)).toMatchObject({ selected: 4, acted: 4 })
  expect(await cancelBatchByOperator(parts, request, by)).toMatchObject({ selected: 4, acted: 4 })
  expect(told.map(({ status, actor }) => `${status} ${actor}`)).toEqual(Array(4).fill('CANCELLED olga'))
  const acts = (await listActs(db.database, { batchId, topLevelOnly: true }, { limit: 10 })).rows
  expect(acts).toMatchObject([{ act: 'CANCEL_BATCH', ...by, before: { cancelled: false }, after: { cancelled: true } }])
  await expect(cancelBatchByOperator(parts, { batchId: uuidv7(), bulkId: uuidv7() }, by)).rejects.toMatchObject({
    code: 'job.batch_not_found',
  })
})

test('a bulk id that was used for another batch leaves this one as it is', async () => {
  const [first, second] = [await newBatch(), await newBatch()]
  const parts = { database: db.database, registry: new JobRegistry([testJob('batch.reused')]) }
  const bulkId = uuidv7()
  await cancelBatchByOperator(parts, { batchId: first, bulkId }, by)
  await expect(cancelBatchByOperator(parts, { batchId: second, bulkId }, by)).rejects.toMatchObject({
    code: 'job.bulk_id_reused',
  })
  expect((await batchesById(db.database, [second])).get(second)).toMatchObject({ cancelledAt: null })
})

test('a cancel beside enqueues: what got in is cancelled, what came after is refused', async () => {
  const job = testJob('batch.race')
  for (let round = 0; round < 8; round++) {
    const batchId = await newBatch()
    const entered = gate()
    const goOn = gate()
    // One transaction is inside the batch before the cancel begins; the others race with it.
    const inside = db.database.transaction(TENANT, async (tx) => {
      const jobs = await enqueueMany(tx, job, [
        { tenantId: TENANT, payload: { n: 0 }, correlationId: 'c', triggeredBy: 't', batchId, delayMs: 3_600_000 },
      ])
      entered.open()
      await goOn.promise
      return jobs
    })
    await entered.promise
    const cancel = cancelBatch(db.database, { tenantId: TENANT, batchId, reason: 'x', actor: 'y' })
    const racing = range(4).map((n) =>
      db.database.transaction(TENANT, (tx) =>
        enqueueMany(tx, job, [
          { tenantId: TENANT, payload: { n }, correlationId: 'c', triggeredBy: 't', batchId, delayMs: 3_600_000 },
        ]),
      ),
    )
    const outcomes = Promise.allSettled(racing)
    goOn.open()
    await inside
    await cancel
    const written = (await outcomes).filter(({ status }) => status === 'fulfilled').length
    expect(await countsOfBatches(db.database, [batchId])).toEqual(new Map([[batchId, { CANCELLED: written + 1 }]]))
  }
})
