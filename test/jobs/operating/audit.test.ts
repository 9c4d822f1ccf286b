import { expect, test } from 'vitest'
import { v7 as uuidv7 } from 'uuid'
import {
  actOnJob,
  defineSchedule,
  JobRegistry,
  listActs,
  pauseSchedule,
  resumeSchedule,
  runBulk,
  runScheduleNow,
} from '../../../src/jobs/index.ts'
import { useDatabase } from '../../harness/database.ts'
import { enqueueNumbers, range, TENANT, testJob, useEngines, waiting } from '../support.ts'

const db = useDatabase()
const engines = useEngines(db)
const by = { actor: 'olga', reason: 'Test.', correlationId: 'op-1' }
const job = testJob('audit.one')
const parts = {
  get database() {
    return db.database
  },
  registry: new JobRegistry([job]),
}

test('J76 J90 who, when, why, what, before and after: newest first, in pages, by every filter', async () => {
  const ids = await enqueueNumbers(db, job, range(4), { delayMs: 60_000 })
  for (const id of ids.slice(0, 3)) await actOnJob(parts, 'HOLD', id, by)
  await actOnJob(parts, 'CANCEL', ids[3]!, { ...by, actor: 'otto' })
  const { rows } = await listActs(db.database, {}, { limit: 100 })
  expect(rows.map(({ jobId }) => jobId)).toEqual(ids.toReversed())
  expect(rows[0]).toMatchObject({
    at: expect.any(Date),
    actor: 'otto',
    reason: 'Test.',
    correlationId: 'op-1',
    tenantId: TENANT,
    before: { status: 'SCHEDULED', attempt: 0 },
    after: { status: 'CANCELLED' },
  })
  const found = async (filter: Parameters<typeof listActs>[1]) =>
    (await listActs(db.database, filter, { limit: 100 })).rows.length
  expect(await found({ actor: 'olga' })).toBe(3)
  expect(await found({ act: 'CANCEL' })).toBe(1)
  expect(await found({ jobId: ids[0]! })).toBe(1)
  expect(await found({ type: 'audit.one', tenantId: TENANT })).toBe(4)
  expect(await found({ tenantId: null })).toBe(0)
  expect(await found({ until: rows[1]!.at })).toBe(2)
  expect(await found({ since: rows[1]!.at })).toBe(2)
  expect(await found({ partOf: uuidv7() })).toBe(0)
  const page = await listActs(db.database, {}, { limit: 2, after: rows[0]!.actId })
  expect(page).toEqual({ rows: rows.slice(1, 3), hasMore: true })
  expect(await listActs(db.database, {}, { limit: 2, before: rows[2]!.actId })).toEqual({
    rows: rows.slice(0, 2),
    hasMore: false,
  })
})

test('J76 an id that its caller chose has no say in the order', async () => {
  const ids = await enqueueNumbers(db, job, range(3), { delayMs: 60_000, correlationId: 'order' })
  const filter = { correlationId: 'order' }
  const oldest = { bulkId: 'ffffffff-ffff-4fff-bfff-ffffffffffff', act: 'HOLD', filter } as const
  await runBulk(parts, oldest, by)
  await actOnJob(parts, 'CANCEL', ids[0]!, by)
  await runBulk(parts, { bulkId: '00000000-0000-4000-8000-000000000000', act: 'RELEASE', filter }, by)
  const acts = async (page: Parameters<typeof listActs>[2]) => (await listActs(db.database, {}, page)).rows
  const newest = await acts({ limit: 9 })
  expect(newest.map(({ act }) => act)).toEqual([
    'BULK_RELEASE_DONE',
    'RELEASE',
    'RELEASE',
    'BULK_RELEASE',
    'CANCEL',
    'BULK_HOLD_DONE',
    'HOLD',
    'HOLD',
    'HOLD',
  ])
  expect(await acts({ limit: 2, after: newest[3]!.actId })).toEqual(newest.slice(4, 6))
  expect((await acts({ limit: 1, after: newest[8]!.actId }))[0]).toMatchObject({ actId: oldest.bulkId })
  expect(await acts({ limit: 2, before: newest[4]!.actId })).toEqual(newest.slice(2, 4))
})

test('J76 J102 the audit is append-only: nothing changes or deletes it', async () => {
  for (const sql of [`update job_act set reason = 'x'`, 'delete from job_act', 'truncate job_act'])
    await expect(db.pool.query(sql)).rejects.toMatchObject({ code: 'RG005' })
})

test('J06 an act survives a restart: what it wrote stands in the rows', async () => {
  const [id] = await enqueueNumbers(db, job, [1], { delayMs: 3_600_000 })
  await actOnJob(parts, 'RUN_NOW', id!, by)
  expect(await waiting(db, id!)).toMatchObject({ status: 'SCHEDULED' })
  // Whoever starts later runs it.
  const { signals } = await engines.start([job])
  await signals.first('ENDED', ({ jobId }) => jobId === id)
})

test('J09 J35 the history of a job carries its own correlation id, the audit that of the operator’s request', async () => {
  const [id] = await enqueueNumbers(db, job, [7], { delayMs: 3_600_000, correlationId: 'of-the-job' })
  await actOnJob(parts, 'CANCEL', id!, by)
  const { rows } = await db.pool.query('select correlation_id, actor, reason from job_event where job_id = $1', [id])
  expect(rows).toEqual([{ correlation_id: 'of-the-job', actor: 'olga', reason: 'Test.' }])
  const [act] = (await listActs(db.database, { jobId: id! }, { limit: 1 })).rows
  expect(act!.correlationId).toBe('op-1')
})

test('J75 J76 a schedule is paused, resumed and run by hand, each with its reason in the audit', async () => {
  const schedule = defineSchedule({ name: 'audit.nightly', job, payload: { n: 1 }, everyMs: 3_600_000 })
  await engines.start([job], { schedules: [schedule] })
  await pauseSchedule(parts, schedule.name, by)
  await expect(pauseSchedule(parts, schedule.name, by)).rejects.toMatchObject({ code: 'job.schedule_paused' })
  await resumeSchedule(parts, schedule.name, by)
  await expect(resumeSchedule(parts, schedule.name, by)).rejects.toMatchObject({ code: 'job.schedule_not_paused' })
  const { jobId } = await runScheduleNow(parts, schedule.name, by)
  expect(jobId).not.toBeNull()
  for (const act of [pauseSchedule, resumeSchedule, runScheduleNow])
    await expect(act(parts, 'audit.nobody', by)).rejects.toMatchObject({ code: 'job.schedule_not_found' })
  await expect(runScheduleNow(parts, schedule.name, { ...by, reason: ' ' })).rejects.toMatchObject({ path: ['reason'] })
  const elsewhere = { database: db.database, registry: new JobRegistry([]) }
  await expect(runScheduleNow(elsewhere, schedule.name, by)).rejects.toMatchObject({ code: 'job.type_unknown_here' })
  const { rows } = await listActs(db.database, { schedule: schedule.name, refused: false }, { limit: 10 })
  expect(rows.map(({ act }) => act)).toEqual(['RUN_SCHEDULE', 'RESUME_SCHEDULE', 'PAUSE_SCHEDULE'])
  expect(rows[0]!.after).toMatchObject({ jobId })
})
