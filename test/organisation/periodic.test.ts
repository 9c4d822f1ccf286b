import { beforeEach, describe, expect, test } from 'vitest'
import { addAttribute, createPersona, organisationUpkeep } from '../../src/domain/organisation/index.ts'
import { cancelJobs, enqueue, JobRegistry } from '../../src/jobs/index.ts'
import { jobDefinitions, jobSchedules } from '../../src/server/job-definitions.ts'
import { useDatabase } from '../harness/database.ts'
import { finished, gate, useEngines } from '../jobs/support.ts'
import { controlled, DONE, KEY, MAKE_TRACE } from './resolutions-controlled.ts'
import { holdInvariants } from './resolutions-invariants.ts'
import { choose, edit, openScene, seen, timeline, type Scene } from './resolutions-scene.ts'
import { attributeId, tenantWithModel } from './tenant.ts'

const db = useDatabase()
const engines = useEngines(db)

let said: object[] = []
beforeEach(() => void (said = []))
const logger = { info() {}, warn() {}, error: (fields: object) => void said.push(fields) }

/** Runs one of the checks once; answers with its job's row. */
async function check(type: string) {
  const job = organisationUpkeep.jobs.find((definition) => definition.type === type)!
  const { engine, signals } = await engines.start([job], { logger })
  const { jobId } = await enqueue(db.database, job, {
    tenantId: null,
    payload: {},
    correlationId: 'corr-check',
    triggeredBy: 'system',
  })
  await signals.first('ENDED', (signal) => signal.jobId === jobId)
  await engine.stop(1_000)
  return (await finished(db, jobId))!
}

/** Tables that only grow and statuses that only move forward are made wrong past the triggers that forbid it. */
const pastTheTriggers = (sql: string) =>
  db.pool.query(`begin; set local session_replication_role = replica; ${sql}; commit`)

test('J97 every periodic check of this version is there, and its job among the definitions', () => {
  const registry = new JobRegistry(jobDefinitions)
  for (const { job } of jobSchedules) expect(registry.types).toContain(job.type)
  expect(jobSchedules.map(({ name, cron, everyMs, job }) => [name, cron ?? everyMs, job.class])).toEqual(
    expect.arrayContaining([
      ['orgmodel.reference_rebuild', '30 1 * * *', 'MAINTENANCE'],
      ['orgmodel.resolution_reaper', 60_000, 'PERIODIC_CHECK'],
    ]),
  )
})

describe('orgmodel.reference_rebuild', () => {
  const rebuild = () => check('orgmodel.reference_rebuild')

  test('J50 J52 J57 P23 every tenant is compared; what differs is said, repaired, and right the next time', async () => {
    const [right, wrong] = [await tenantWithModel(db.database), await tenantWithModel(db.database)]
    const filter = (own: typeof right) => ({ op: 'cond', field: attributeId(own.model, 'level'), cmp: 'isSet' })
    await createPersona(right.call, { name: 'right', filter: filter(right) })
    const persona = await createPersona(wrong.call, { name: 'wrong', filter: filter(wrong) })
    await db.pool.query('delete from org_model_reference where source_id = $1', [persona.id])
    const { rows } = await db.pool.query('select count(*)::int as n from tenant')
    const tenants = rows[0].n as number

    const run = await rebuild()
    expect(run).toMatchObject({
      status: 'SUCCEEDED',
      output: { found: tenants, processed: 1, skipped: tenants - 1, failed: 0, correlationId: 'corr-check' },
    })
    const { tenantId } = wrong.call.viewer
    expect(said).toMatchObject([{ tenantId, sourceKind: 'PERSONA', sourceId: persona.id, missing: 1, orphaned: 0 }])
    expect(said).toMatchObject([{ jobId: run.id, correlationId: 'corr-check' }])
    expect((await rebuild()).output).toMatchObject({ found: tenants, processed: 0, skipped: tenants })
  })

  test('J56 J58 a tenant whose references cannot be computed keeps no other one waiting', async () => {
    const [broken, other] = [await tenantWithModel(db.database), await tenantWithModel(db.database)]
    const filter = { op: 'cond', field: attributeId(other.model, 'level'), cmp: 'isSet' }
    const persona = await createPersona(other.call, { name: 'after the broken one', filter })
    await db.pool.query('delete from org_model_reference where source_id = $1', [persona.id])
    const field = attributeId(broken.model, 'level')
    const bad = await createPersona(broken.call, { name: 'bad', filter: { op: 'cond', field, cmp: 'isSet' } })
    await pastTheTriggers(`update persona set filter = '{"op":"nonsense"}' where id = '${bad.id}'`)
    const job = organisationUpkeep.jobs.find(({ type }) => type === 'orgmodel.reference_rebuild')!
    const { signals } = await engines.start([job], { logger })
    const { jobId } = await enqueue(db.database, job, {
      tenantId: null,
      payload: {},
      correlationId: 'corr-broken',
      triggeredBy: 'system',
    })
    await signals.first('ENDED', (signal) => signal.jobId === jobId)
    const { rows } = await db.pool.query('select status, display_name from job where id = $1', [jobId])
    expect(rows).toMatchObject([{ status: 'RETRY_SCHEDULED' }])
    const { rows: events } = await db.pool.query('select code, message from job_event where job_id = $1', [jobId])
    expect(events).toMatchObject([{ code: 'job.candidates_failed', message: expect.stringContaining('1 of ') }])
    const { rows: repaired } = await db.pool.query('select from org_model_reference where source_id = $1', [persona.id])
    expect(repaired).toHaveLength(1)
    await db.pool.query('delete from job where id = $1', [jobId])
  })
})

describe('orgmodel.resolution_reaper', () => {
  let scene: Scene
  beforeEach(async () => {
    await db.pool.query(MAKE_TRACE.replace('create table', 'create table if not exists'))
    scene = await openScene(db.database)
    await edit(scene.call, (input) =>
      addAttribute(scene.call, { ...input, key: 'extra', label: 'X', dataType: 'TEXT' }),
    )
  })
  const drafts = controlled({ execute: async () => DONE })
  const submitted = () => choose(drafts, scene.call, KEY, 'test.one')
  const reap = () => check('orgmodel.resolution_reaper')

  test('J51 J57 what its job will move is left alone', async () => {
    const id = await submitted()
    const run = await reap()
    expect(run).toMatchObject({ status: 'SUCCEEDED', output: { found: 0, processed: 0, skipped: 0, failed: 0 } })
    expect((await seen(scene.call, id)).status).toBe('PENDING')
  })

  test('J51 PENDING and its job gone: FAILED, so that the draft is not blocked for ever and it can be tried again', async () => {
    const id = await submitted()
    await db.pool.query('delete from job where id = $1', [(await seen(scene.call, id)).jobId])
    expect((await reap()).output).toMatchObject({ found: 1, processed: 1 })
    expect(await seen(scene.call, id)).toMatchObject({
      status: 'FAILED',
      errorCode: 'orgmodel.resolution.job_missing',
      error: 'Its job is gone, and nothing says how it ended. Submit the resolution again.',
    })
    expect(said).toMatchObject([{ resolutionId: id, status: 'PENDING', jobStatus: null }])
    expect((await reap()).output).toMatchObject({ found: 0 })
    await drafts.retryResolution(scene.call, { resolutionId: id })
    await engines.start([drafts.resolutionJob])
    await expect.poll(async () => (await seen(scene.call, id)).status, { timeout: 10_000 }).toBe('COMPLETED')
    await holdInvariants(scene.call)
  })

  test('J51 a job that was cancelled without telling: FAILED as cancelled', async () => {
    const id = await submitted()
    const { jobId } = await seen(scene.call, id)
    const { tenantId } = scene.call.viewer
    await cancelJobs(db.database, { tenantId, jobIds: [jobId], reason: 'by hand', actor: 'olga' })
    expect((await reap()).output).toMatchObject({ found: 1, processed: 1 })
    expect(await seen(scene.call, id)).toMatchObject({ status: 'FAILED', errorCode: 'orgmodel.resolution.cancelled' })
  })

  test('J51 PROCESSING while its job waits: PENDING again, and the job carries it out', async () => {
    const id = await submitted()
    await pastTheTriggers(`update org_model_draft_resolution set status = 'PROCESSING' where id = '${id}'`)
    expect((await reap()).output).toMatchObject({ found: 1, processed: 1 })
    expect((await seen(scene.call, id)).status).toBe('PENDING')
    await engines.start([drafts.resolutionJob])
    await expect.poll(async () => (await seen(scene.call, id)).status, { timeout: 10_000 }).toBe('COMPLETED')
  })

  test('J51 PROCESSING and its job failed: the error is that of the job', async () => {
    const id = await submitted()
    const { jobId } = await seen(scene.call, id)
    await db.pool.query(`update job set payload = '{}' where id = $1`, [jobId])
    const { signals, engine } = await engines.start([drafts.resolutionJob])
    await signals.first('ENDED', (signal) => signal.jobId === jobId)
    await engine.stop(1_000)
    await pastTheTriggers(
      `update org_model_draft_resolution set status = 'PROCESSING', executed_at = null, error = null, error_code = null
       where id = '${id}'`,
    )
    expect((await reap()).output).toMatchObject({ found: 1, processed: 1 })
    expect(await seen(scene.call, id)).toMatchObject({
      status: 'FAILED',
      errorCode: 'orgmodel.resolution.payload_invalid',
    })
  })

  test('J62 a resolution that is being carried out is no candidate, however long it takes', async () => {
    const held = gate()
    const slow = controlled({
      execute: async () => {
        await held.promise
        return DONE
      },
    })
    const id = await choose(slow, scene.call, KEY, 'test.one')
    await engines.start([slow.resolutionJob])
    await expect.poll(async () => (await seen(scene.call, id)).status, { timeout: 10_000 }).toBe('PROCESSING')
    expect((await reap()).output).toMatchObject({ found: 0 })
    held.open()
    await expect.poll(async () => (await seen(scene.call, id)).status, { timeout: 10_000 }).toBe('COMPLETED')
    expect(await timeline(scene.call, id)).toEqual(['PENDING/0', 'PROCESSING/1', 'COMPLETED/1'])
  })
})
