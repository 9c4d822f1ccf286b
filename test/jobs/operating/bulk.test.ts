import { expect, test } from 'vitest'
import { v7 as uuidv7 } from 'uuid'
import {
  actOnJob,
  type BulkRequest,
  failed,
  holdDueJobs,
  type JobDefinition,
  JobRegistry,
  listActs,
  listJobs,
  previewBulk,
  runBulk,
} from '../../../src/jobs/index.ts'
import { CANCEL } from '../../../src/jobs/sql/cancel.ts'
import { LOCK_JOBS, MOVE_DUE } from '../../../src/jobs/sql/operate.ts'
import { useDatabase } from '../../harness/database.ts'
import { enqueueNumbers, gate, OTHER_TENANT, range, TENANT, testJob, useEngines, waiting } from '../support.ts'

const db = useDatabase()
const engines = useEngines(db)
const by = { actor: 'olga', reason: 'The mail server was down.', correlationId: 'op-1' }

type Definition = JobDefinition<{ n: number }>
const parts = (...definitions: Definition[]) => ({ database: db.database, registry: new JobRegistry(definitions) })
const request = (own: Partial<BulkRequest>): BulkRequest => ({ bulkId: uuidv7(), act: 'RETRY', filter: {}, ...own })

/** So many jobs of the type that failed, of two tenants. */
async function failures(type: string, count: number, own: Partial<Definition> = {}) {
  const definition = testJob(type, { run: async () => failed('bulk.no', 'It cannot be.'), ...own })
  const ids = await enqueueNumbers(db, definition, range(count), (n) => ({
    tenantId: n % 2 === 0 ? TENANT : OTHER_TENANT,
  }))
  const { engine, signals, database } = await engines.start([definition])
  await signals.ended(count)
  await engine.stop(500)
  await database.close()
  return { definition, ids }
}

test('J75 J90 a preview counts without touching; the act does just that, each job with its own row in the audit', async () => {
  const { definition, ids } = await failures('bulk.retry', 30)
  const [succeeded] = await enqueueNumbers(db, testJob('bulk.retry'), [1], { delayMs: 60_000 })
  const filter = { types: ['bulk.retry'] }
  const preview = await previewBulk(parts(definition), filter, 'RETRY')
  expect(preview).toEqual({
    jobs: 30,
    beyondLimit: false,
    perType: [{ type: 'bulk.retry', jobs: 30 }],
    sample: ids.toSorted().slice(0, 20),
    refused: [{ status: 'SCHEDULED', jobs: 1 }],
    unknownTypes: [],
  })
  expect((await listActs(db.database, { type: 'bulk.retry' }, { limit: 5 })).rows).toEqual([])

  const bulk = request({ filter, expectedJobs: preview.jobs })
  const result = await runBulk(parts(definition), bulk, by)
  expect(result).toEqual({
    bulkId: bulk.bulkId,
    selected: 30,
    acted: 30,
    refused: 0,
    refusals: [],
    gone: 0,
    more: false,
  })
  const { rows } = await listJobs(db.database, filter, { limit: 100 })
  expect(rows.map(({ status }) => status)).toEqual(Array(31).fill('SCHEDULED'))
  expect((await waiting(db, succeeded!))!.attempt).toBe(0)
  const acts = (await listActs(db.database, { partOf: bulk.bulkId }, { limit: 100 })).rows
  expect(
    acts
      .filter(({ jobId }) => jobId !== null)
      .map(({ jobId }) => jobId)
      .toSorted(),
  ).toEqual(ids.toSorted())
  expect(acts.find(({ jobId }) => jobId === ids[0])).toMatchObject({
    act: 'RETRY',
    ...by,
    before: { status: 'FAILED' },
    after: { status: 'SCHEDULED' },
  })
  const [whole] = (await listActs(db.database, { topLevelOnly: true, act: 'BULK_RETRY' }, { limit: 1 })).rows
  expect(whole).toMatchObject({ actId: bulk.bulkId, selection: { jobs: 30, more: false } })
  expect(whole!.selection).not.toHaveProperty('groups')

  // The same request again is the same act.
  expect(await runBulk(parts(definition), bulk, by)).toEqual(result)
  await expect(runBulk(parts(definition), { ...bulk, act: 'HANDLE' }, by)).rejects.toMatchObject({
    code: 'job.bulk_id_reused',
  })
})

test('a selection that has grown since the preview is not acted on', async () => {
  const { definition } = await failures('bulk.grew', 4)
  const filter = { types: ['bulk.grew'], statuses: ['FAILED' as const] }
  await expect(runBulk(parts(definition), request({ filter, expectedJobs: 3 }), by)).rejects.toMatchObject({
    code: 'job.selection_grew',
  })
  expect((await listJobs(db.database, filter, { limit: 10 })).rows).toHaveLength(4)
  expect((await runBulk(parts(definition), request({ filter, expectedJobs: 5 }), by)).acted).toBe(4)
})

test('a filter is needed, and a reason', async () => {
  await expect(runBulk(parts(), request({}), by)).rejects.toMatchObject({ name: 'ValidationError', path: ['filter'] })
  await expect(runBulk(parts(), request({ filter: { types: ['x.y'] } }), { ...by, reason: ' ' })).rejects.toMatchObject(
    { path: ['reason'] },
  )
})

test('Found = acted + refused + gone, whatever stands in the way of a job', async () => {
  const { definition, ids } = await failures('bulk.mixed', 12, {
    stillValid: async (_tx, { n }) => (n === 2 ? 'It is no longer wanted.' : null),
  })
  const deaf: Definition = {
    ...definition,
    onOutcome: async (_tx, outcomes) => {
      if (outcomes.some(({ payload }) => payload.n === 4)) throw new Error('not that one')
    },
  }
  const holder = await db.pool.connect()
  try {
    await holder.query('begin')
    await holder.query('select from job_finished where id = $1 for update', [ids[6]])
    const result = await runBulk(parts(deaf), request({ filter: { types: ['bulk.mixed', 'bulk.other'] } }), by)
    expect(result).toMatchObject({
      selected: 12,
      acted: 9,
      refused: 3,
      refusals: [
        { code: 'job.busy', jobs: 1 },
        { code: 'job.domain_failed', jobs: 1 },
        { code: 'job.no_longer_valid', jobs: 1 },
      ],
      gone: 0,
    })
  } finally {
    await holder.query('rollback')
    holder.release()
  }
  const unknown = await runBulk(parts(), request({ filter: { types: ['bulk.mixed'], statuses: ['FAILED'] } }), by)
  expect(unknown).toMatchObject({ selected: 3, refusals: [{ code: 'job.type_unknown_here', jobs: 3 }] })
  expect(await previewBulk(parts(), { types: ['bulk.mixed'] }, 'HANDLE')).toMatchObject({
    jobs: 3,
    unknownTypes: ['bulk.mixed'],
  })
})

test('one job whose domain throws among many costs a few transactions more, not one per job', async () => {
  const { definition } = await failures('bulk.one_bad', 128)
  let told = 0
  const deaf: Definition = {
    ...definition,
    onOutcome: async (_tx, outcomes) => {
      told++
      if (outcomes.some(({ payload }) => payload.n === 77)) throw new Error('not that one')
    },
  }
  const result = await runBulk(parts(deaf), request({ filter: { types: ['bulk.one_bad'] } }), by)
  expect(result).toMatchObject({ acted: 127, refusals: [{ code: 'job.domain_failed', jobs: 1 }] })
  // Two tenants of 64 each: one at once, the other by halves.
  expect(told).toBe(1 + 1 + 2 * 6)
})

test('a bulk act that was cut off goes on where it stopped, and two at once touch each job once', async () => {
  const { definition, ids } = await failures('bulk.resume', 40)
  let told = 0
  const cut: Definition = {
    ...definition,
    onOutcome: async (_tx, outcomes) => {
      told += outcomes.length
      // As unreachable as a database gets: after the first tenant's transaction.
      if (told > 20) throw Object.assign(new Error('gone'), { code: 'ECONNRESET' })
    },
  }
  const bulk = request({ filter: { types: ['bulk.resume'] } })
  await expect(runBulk(parts(cut), bulk, by)).rejects.toThrow('gone')
  const done = (await listActs(db.database, { partOf: bulk.bulkId }, { limit: 100 })).rows.length
  expect(done).toBe(20)
  const results = await Promise.all([runBulk(parts(definition), bulk, by), runBulk(parts(definition), bulk, by)])
  for (const result of results) expect(result).toMatchObject({ selected: 40, acted: 40, refused: 0, gone: 0 })
  const { rows } = await db.pool.query('select job_id from job_act where part_of = $1 and job_id is not null', [
    bulk.bulkId,
  ])
  expect(rows.map((row) => row.job_id).toSorted()).toEqual(ids.toSorted())
})

test('two calls of one bulk act take turns: each job once, one end, one answer', async () => {
  const { definition, ids } = await failures('bulk.turns', 12)
  const [entered, go] = [gate(), gate()]
  const slow: Definition = {
    ...definition,
    onOutcome: async () => {
      entered.open()
      await go.promise
    },
  }
  const bulk = request({ filter: { types: ['bulk.turns'] } })
  const first = runBulk(parts(slow), bulk, by)
  await entered.promise
  let answered = false
  const second = runBulk(parts(definition), bulk, by).finally(() => (answered = true))
  // The first holds its jobs: the second waits for it, or (as it must not) takes them for busy and is through.
  await expect
    .poll(async () => {
      const { rows } = await db.pool.query(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return answered || rows.length > 0
    })
    .toBe(true)
  go.open()
  const results = await Promise.all([first, second])
  expect(results[0]).toMatchObject({ selected: 12, acted: 12, refused: 0, gone: 0 })
  expect(results[1]).toEqual(results[0])
  const { rows } = await listActs(db.database, { partOf: bulk.bulkId }, { limit: 100 })
  expect(rows.flatMap(({ jobId }) => jobId ?? []).toSorted()).toEqual(ids.toSorted())
  expect(rows.filter(({ act }) => act === 'BULK_RETRY_DONE')).toHaveLength(1)
})

test('a bulk id that is that of another entry of the audit is refused', async () => {
  const { definition, ids } = await failures('bulk.taken', 2)
  const { actId } = await actOnJob(parts(definition), 'RETRY', ids[0]!, by)
  await expect(
    runBulk(parts(definition), request({ bulkId: actId, filter: { types: ['bulk.taken'] } }), by),
  ).rejects.toMatchObject({ code: 'job.bulk_id_reused' })
})

test('acts on many reach their jobs through the key, also where the table was never analysed', async () => {
  const job = testJob('bulk.plan')
  const ids = await enqueueNumbers(db, job, range(20_000), { delayMs: 3_600_000 })
  const some = JSON.stringify(ids.slice(0, 500))
  const client = await db.pool.connect()
  try {
    for (const [statement, values] of [
      [LOCK_JOBS.LIVE.skipping, [some, TENANT, job.type]],
      [MOVE_DUE, [some, TENANT, by.reason, by.actor, 'HOLD']],
      [CANCEL, [some, TENANT, by.reason, by.actor]],
    ] as const) {
      const { rows } = await client.query(`explain (format json) ${statement.text}`, [...values])
      const used = JSON.stringify(rows).match(/"Index Name":"job_\w+"/g)
      expect(used, statement.name).toContain('"Index Name":"job_pkey"')
      expect(used, statement.name).not.toContain('"Index Name":"job_waiting"')
    }
  } finally {
    client.release()
  }
})

test('RUN_NOW of many is for those whose time has not come: going on with the rest meets others', async () => {
  const job = testJob('bulk.sooner')
  await enqueueNumbers(db, job, [1])
  const later = await enqueueNumbers(db, job, [2, 3], { delayMs: 3_600_000 })
  await actOnJob(parts(job), 'HOLD', later[0]!, by)
  const filter = { types: ['bulk.sooner'] }
  expect((await previewBulk(parts(job), filter, 'RUN_NOW')).sample).toEqual(later.toSorted())
  expect(await runBulk(parts(job), request({ act: 'RUN_NOW', filter }), by)).toMatchObject({ selected: 2, acted: 2 })
  expect(await runBulk(parts(job), request({ act: 'RUN_NOW', filter }), by)).toMatchObject({ selected: 0 })
  expect((await listJobs(db.database, { ...filter, due: true }, { limit: 9 })).rows).toHaveLength(3)
})

test('what was done since the selection is gone, not done twice', async () => {
  const { definition, ids } = await failures('bulk.gone', 6)
  const bulk = request({ filter: { types: ['bulk.gone'] } })
  const slow: Definition = {
    ...definition,
    stillValid: async (_tx, { n }) => {
      // While the bulk act is at its first tenant, somebody handles a job of the second.
      if (n === 0) await actOnJob(parts(definition), 'HANDLE', ids[1]!, { ...by, actor: 'otto' })
      return null
    },
  }
  expect(await runBulk(parts(slow), bulk, by)).toMatchObject({ selected: 6, acted: 5, refused: 0, gone: 1 })
})

test('J107 after a restore: what is long due is held, the rest runs, and is released when somebody says so', async () => {
  const job = testJob('bulk.restored')
  const old = await enqueueNumbers(db, job, range(4), { runAt: new Date('2026-01-01T00:00:00Z') })
  const [fresh] = await enqueueNumbers(db, job, [9])
  const hold = { bulkId: uuidv7(), olderThanMs: 3_600_000 }
  expect(await holdDueJobs(parts(job), hold, by)).toMatchObject({ acted: 4, gone: 0, refused: 0 })
  expect(await holdDueJobs(parts(job), hold, by)).toMatchObject({ acted: 4 })
  const { signals } = await engines.start([job])
  await signals.first('ENDED', ({ jobId }) => jobId === fresh)
  await signals.first('IDLE')
  expect(signals.of('BEGAN').map(({ jobId }) => jobId)).toEqual([fresh])
  const release = request({ act: 'RELEASE', filter: { types: ['bulk.restored'] } })
  expect(await runBulk(parts(job), release, by)).toMatchObject({ selected: 4, acted: 4 })
  await signals.ended(5)
  expect(new Set(signals.of('ENDED').map(({ jobId }) => jobId))).toEqual(new Set([...old, fresh]))
})
