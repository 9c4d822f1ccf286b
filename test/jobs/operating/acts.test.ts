import { randomUUID } from 'node:crypto'
import { beforeEach, expect, test } from 'vitest'
import {
  actOnJob,
  type By,
  failed,
  JOB_ACTS,
  type JobAct,
  JobActRefusedError,
  type JobDefinition,
  type JobOutcome,
  JobRegistry,
  type JobStatus,
  jobsById,
  listActs,
  notApplicable,
} from '../../../src/jobs/index.ts'
import { RESCUE } from '../../../src/jobs/sql/settle.ts'
import { useDatabase } from '../../harness/database.ts'
import {
  enqueueNumbers,
  finished,
  gate,
  makeDue,
  OTHER_TENANT,
  TENANT,
  testJob,
  useEngines,
  waiting,
} from '../support.ts'

const db = useDatabase()
const engines = useEngines(db)
const by: By = { actor: 'olga', reason: 'The printer was out of paper.', correlationId: 'op-1' }

type Outcome = JobOutcome<{ n: number }>
let told: Outcome[] = []
beforeEach(() => {
  told = []
})

const counting = (type: string, own: Partial<JobDefinition<{ n: number }>> = {}) =>
  testJob(type, {
    onOutcome: async (_tx, outcomes) => void told.push(...outcomes),
    ...own,
  })

const act = (definition: JobDefinition<{ n: number }>, which: JobAct, id: string, as: By = by) =>
  actOnJob({ database: db.database, registry: new JobRegistry([definition]) }, which, id, as)

const eventsOf = async (id: string) =>
  (
    await db.pool.query(
      'select "from", "to", actor, reason, attempt from job_event where job_id = $1 order by xid, id',
      [id],
    )
  ).rows

/** A job that stands in a status, brought there by an engine where that takes one. */
async function jobIn(status: JobStatus, type: string) {
  const running = gate()
  const definition = counting(type, {
    policy: { maxAttempts: 2, delaysMs: [3_600_000] },
    run: async (_, context) => {
      if (status === 'SUCCEEDED') return { kind: 'SUCCEEDED' }
      if (status === 'FAILED') return failed('test.no', 'It cannot be.')
      if (status === 'RETRY_SCHEDULED') throw new Error('once more')
      await Promise.race([running.promise, new Promise((resolve) => context.signal.addEventListener('abort', resolve))])
      context.signal.throwIfAborted()
      return { kind: 'SUCCEEDED' }
    },
  })
  const [id] = await enqueueNumbers(db, definition, [1], status === 'SCHEDULED' ? { delayMs: 3_600_000 } : {})
  if (status === 'CANCELLED') await act(definition, 'CANCEL', id!)
  if (['SUCCEEDED', 'FAILED', 'RETRY_SCHEDULED', 'PROCESSING'].includes(status)) {
    const { signals, engine } = await engines.start([definition])
    if (status === 'PROCESSING') await signals.first('BEGAN')
    else {
      await signals.ended(1)
      // So that what becomes of the job from now on is the operators' doing.
      await engine.stop(500)
    }
  }
  told = []
  return { definition, id: id!, finish: () => running.open() }
}

const STATUSES: JobStatus[] = ['SCHEDULED', 'PROCESSING', 'SUCCEEDED', 'RETRY_SCHEDULED', 'FAILED', 'CANCELLED']
const AFTER: Record<JobAct, Partial<Record<JobStatus, JobStatus>>> = {
  RETRY: { FAILED: 'SCHEDULED' },
  RUN_NOW: { SCHEDULED: 'SCHEDULED', RETRY_SCHEDULED: 'RETRY_SCHEDULED' },
  CANCEL: { SCHEDULED: 'CANCELLED', RETRY_SCHEDULED: 'CANCELLED', PROCESSING: 'PROCESSING' },
  HANDLE: { FAILED: 'CANCELLED' },
  HOLD: { SCHEDULED: 'SCHEDULED', RETRY_SCHEDULED: 'RETRY_SCHEDULED' },
  RELEASE: {},
}

test.each(STATUSES.flatMap((status) => JOB_ACTS.map((which) => [which, status] as const)))(
  'J33 J75 %s of a job that is %s',
  async (which, status) => {
    const { definition, id } = await jobIn(status, `acts.${status.toLowerCase()}_${which.toLowerCase()}`)
    const before = (await jobsById(db.database, [id])).get(id)!
    expect(before.status).toBe(status)
    const to = AFTER[which][status]
    const attempt = act(definition, which, id)
    if (to === undefined) {
      await expect(attempt).rejects.toMatchObject({
        name: 'JobActRefusedError',
        code: which === 'RELEASE' && before.dueAt !== null ? 'job.not_held' : 'job.wrong_status',
        status,
      })
      expect((await jobsById(db.database, [id])).get(id)).toEqual(before)
      const acts = (await listActs(db.database, { jobId: id, act: which }, { limit: 5 })).rows
      expect(acts.filter(({ refusal }) => refusal === null)).toHaveLength(
        which === 'CANCEL' && status === 'CANCELLED' ? 1 : 0,
      )
      // That it was tried stands in the audit too.
      expect(acts[0]).toMatchObject({ ...by, type: definition.type, before: { status }, after: null })
      expect(acts[0]!.refusal).toMatch(/^job\.(wrong_status|not_held)$/)
      return
    }
    const { job, actId } = await attempt
    expect(job.status).toBe(to)
    const [audited] = (await listActs(db.database, { jobId: id }, { limit: 5 })).rows
    expect(audited).toMatchObject({
      actId,
      act: which,
      ...by,
      jobId: id,
      type: definition.type,
      tenantId: TENANT,
      before: { status, attempt: before.attempt },
      after: { status: to, attempt: before.attempt },
    })
    // What changes the status is told to the domain in the same transaction; what a running job becomes, by its end.
    expect(told.map(({ status: now, actor }) => [now, actor])).toEqual(to === status ? [] : [[to, 'olga']])
  },
)

test('J72 J76 an act without a reason is refused, whoever asks', async () => {
  const job = counting('acts.reason')
  const [id] = await enqueueNumbers(db, job, [1], { delayMs: 60_000 })
  for (const reason of ['', '  \n', 'x'.repeat(501), 'a\0b'])
    await expect(act(job, 'CANCEL', id!, { ...by, reason })).rejects.toMatchObject({
      name: 'ValidationError',
      code: 'job.reason_required',
      path: ['reason'],
    })
  expect((await waiting(db, id!))?.status).toBe('SCHEDULED')
})

test('an unknown job does not exist, and a type that nobody here knows is said to be that', async () => {
  const job = counting('acts.unknown')
  await expect(act(job, 'CANCEL', randomUUID())).rejects.toMatchObject({ code: 'job.not_found' })
  const [id] = await enqueueNumbers(db, counting('acts.elsewhere'), [1], { delayMs: 60_000 })
  await expect(act(job, 'CANCEL', id!)).rejects.toMatchObject({ code: 'job.type_unknown_here', status: 'SCHEDULED' })
})

test('J33 J34 a manual retry is a new window of attempts with the history of the old one', async () => {
  const attempts: number[] = []
  const job = counting('acts.window', {
    policy: { maxAttempts: 2, delaysMs: [0] },
    run: async (_, context) => {
      attempts.push(context.attempt)
      throw new Error('no')
    },
  })
  const { signals } = await engines.start([job])
  const [id] = await enqueueNumbers(db, job, [1], { idempotencyKey: 'window' })
  await signals.first('ENDED', ({ status }) => status === 'FAILED')
  const epoch = (await finished(db, id!))!.claim_epoch
  const { job: back } = await act(job, 'RETRY', id!)
  expect(back).toMatchObject({ status: 'SCHEDULED', attempt: 2, attemptBase: 2, maxAttempts: 2, finishedAt: null })
  expect(await finished(db, id!)).toBeUndefined()
  await signals.first('ENDED', ({ status, attempt }) => status === 'FAILED' && attempt === 4)
  expect(attempts).toHaveLength(4)
  // Whoever held an attempt of the first window is fenced in the second.
  expect((await finished(db, id!))!.claim_epoch).toBe(epoch + 2)
  expect((await eventsOf(id!)).map(({ from, to, actor }) => `${from} ${to} ${actor}`)).toEqual([
    'PROCESSING RETRY_SCHEDULED system',
    'PROCESSING FAILED system',
    'FAILED SCHEDULED olga',
    'PROCESSING RETRY_SCHEDULED system',
    'PROCESSING FAILED system',
  ])
  // The key still means this job.
  expect(await enqueueNumbers(db, job, [1], { idempotencyKey: 'window' })).toEqual([id])
})

test('J31 J72 a retry asks the domain whether the job is still wanted', async () => {
  let reason: string | null = 'The draft is closed.'
  const asked: unknown[] = []
  const { definition, id } = await jobIn('FAILED', 'acts.valid')
  const job = {
    ...definition,
    stillValid: async (tx: { tenantId: string }, payload: { n: number }) => {
      asked.push([tx.tenantId, payload])
      return reason
    },
  }
  await expect(act(job, 'RETRY', id)).rejects.toMatchObject({
    code: 'job.no_longer_valid',
    status: 'FAILED',
    message: 'The draft is closed.',
  })
  expect((await finished(db, id))!.status).toBe('FAILED')
  reason = null
  expect((await act(job, 'RETRY', id)).job.status).toBe('SCHEDULED')
  expect(asked).toEqual([
    [TENANT, { n: 1 }],
    [TENANT, { n: 1 }],
  ])
})

test('when the domain refuses to hear of it, nothing was done', async () => {
  const { definition, id } = await jobIn('FAILED', 'acts.deaf')
  const job = {
    ...definition,
    onOutcome: async () => {
      throw new Error('not now')
    },
  }
  await expect(act(job, 'RETRY', id)).rejects.toThrow('not now')
  expect((await finished(db, id))!.status).toBe('FAILED')
  expect((await listActs(db.database, { jobId: id }, { limit: 5 })).rows).toEqual([])
  expect((await eventsOf(id)).map(({ to }) => to)).toEqual(['FAILED'])
})

test('K5 J75 what was dealt with elsewhere is CANCELLED with the resolution HANDLED, and keeps what it failed of', async () => {
  const { definition, id } = await jobIn('FAILED', 'acts.handled')
  const { job } = await act(definition, 'HANDLE', id)
  expect(job).toMatchObject({
    status: 'CANCELLED',
    resolution: 'HANDLED',
    reason: by.reason,
    failure: { class: 'PERMANENT', code: 'test.no' },
  })
  expect(told).toMatchObject([{ jobId: id, status: 'CANCELLED', actor: 'olga', reason: by.reason, failure: null }])
})

test('K4 what no longer applies is CANCELLED with its reason, and cannot be retried', async () => {
  const job = counting('acts.moot', { run: async () => notApplicable('acts.draft_closed') })
  const { signals } = await engines.start([job])
  const [id] = await enqueueNumbers(db, job, [1])
  await signals.ended(1)
  expect((await jobsById(db.database, [id!])).get(id!)).toMatchObject({
    status: 'CANCELLED',
    reason: 'acts.draft_closed',
    resolution: null,
    failure: null,
  })
  await expect(act(job, 'RETRY', id!)).rejects.toMatchObject({ code: 'job.wrong_status', status: 'CANCELLED' })
})

test('K8 cancelling a running job is a request: it ends by who wins', async () => {
  const won = await jobIn('PROCESSING', 'acts.win')
  const { job } = await act(won.definition, 'CANCEL', won.id)
  expect(job.cancelRequestedAt).not.toBeNull()
  await expect(act(won.definition, 'CANCEL', won.id)).rejects.toMatchObject({ code: 'job.cancel_requested' })
  await expect.poll(() => finished(db, won.id), { timeout: 15_000 }).toMatchObject({ status: 'CANCELLED' })
  expect(told).toMatchObject([{ status: 'CANCELLED', actor: 'olga' }])
})

test('a job of the installation is acted on like any other', async () => {
  const job = counting('acts.installation')
  const [id] = await enqueueNumbers(db, job, [1], { tenantId: null, delayMs: 60_000 })
  expect((await act(job, 'CANCEL', id!)).job).toMatchObject({ status: 'CANCELLED', tenantId: null })
  expect(told).toHaveLength(1)
})

test('RUN_NOW makes a waiting job due, HOLD puts it aside, RELEASE gives it back its time', async () => {
  const job = counting('acts.due')
  const [id] = await enqueueNumbers(db, job, [1], { delayMs: 3_600_000 })
  const due = (await jobsById(db.database, [id!])).get(id!)!.dueAt
  expect((await act(job, 'HOLD', id!)).job).toMatchObject({ held: true, dueAt: null })
  await expect(act(job, 'HOLD', id!)).rejects.toMatchObject({ code: 'job.held' })
  expect((await act(job, 'RELEASE', id!)).job).toMatchObject({ held: false, dueAt: due })
  expect(Number((await waiting(db, id!))!.due_in_ms)).toBeGreaterThan(3_000_000)
  await act(job, 'RUN_NOW', id!)
  expect(Number((await waiting(db, id!))!.due_in_ms)).toBeLessThanOrEqual(0)
  expect(told).toEqual([])
})

test('RUN_NOW leaves what is due already in its place', async () => {
  const job = counting('acts.place')
  const [first] = await enqueueNumbers(db, job, [1], { runAt: new Date('2026-01-01T00:00:00Z') })
  expect((await act(job, 'RUN_NOW', first!)).job.dueAt).toEqual(new Date('2026-01-01T00:00:00Z'))
})

test('a held job is run by nobody until it is released', async () => {
  const job = counting('acts.held')
  const [held, free] = await enqueueNumbers(db, job, [1, 2], { delayMs: 60_000 })
  await act(job, 'HOLD', held!)
  await makeDue(db, free!)
  const { signals } = await engines.start([job])
  await signals.first('ENDED', ({ jobId }) => jobId === free)
  await signals.first('IDLE')
  expect((await waiting(db, held!))!.status).toBe('SCHEDULED')
  await act(job, 'RELEASE', held!)
  await act(job, 'RUN_NOW', held!)
  await signals.first('ENDED', ({ jobId }) => jobId === held)
})

test('J72 two operators at once: one wins, the other hears what the job is now', async () => {
  for (let round = 0; round < 5; round++) {
    const type = `acts.race_${round}`
    const { definition, id } = await jobIn('FAILED', type)
    const results = await Promise.allSettled([
      act(definition, 'RETRY', id),
      act(definition, 'RETRY', id, { ...by, actor: 'otto' }),
      act(definition, 'HANDLE', id, { ...by, actor: 'ola' }),
    ])
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(JobActRefusedError)
    expect((await listActs(db.database, { jobId: id, refused: false }, { limit: 5 })).rows).toHaveLength(1)
    expect((await listActs(db.database, { jobId: id, refused: true }, { limit: 5 })).rows).toHaveLength(2)
    expect(told).toHaveLength(1)
  }
})

test('K8 a cancel against the end of an attempt: one ending, whoever is first', async () => {
  for (let round = 0; round < 5; round++) {
    const { definition, id, finish } = await jobIn('PROCESSING', `acts.settle_${round}`)
    finish()
    const result = await act(definition, 'CANCEL', id).then(
      () => 'asked',
      (error: JobActRefusedError) => error.status,
    )
    await expect.poll(() => finished(db, id), { timeout: 15_000 }).toBeDefined()
    expect(['asked', 'SUCCEEDED']).toContain(result)
    expect((await eventsOf(id)).length).toBe(1)
  }
})

test('what is locked by its own transaction is not waited for long', async () => {
  const job = counting('acts.busy')
  const [id] = await enqueueNumbers(db, job, [1], { delayMs: 60_000 })
  const holder = await db.pool.connect()
  try {
    await holder.query('begin')
    await holder.query('select from job where id = $1 for update', [id])
    await expect(act(job, 'CANCEL', id!)).rejects.toMatchObject({ code: 'job.busy' })
  } finally {
    await holder.query('rollback')
    holder.release()
  }
})

test('what killed its workers comes back as a suspect, and its next loss is its last', async () => {
  const job = counting('acts.suspect')
  const [id] = await enqueueNumbers(db, job, [1], { tenantId: OTHER_TENANT })
  /** As if a worker had claimed it and died. */
  const lose = async () => {
    await db.pool.query(
      `update job set status = 'PROCESSING', worker_id = $2, claim_epoch = claim_epoch + 1, attempt = attempt + 1,
         claimed_at = now() where id = $1`,
      [id, randomUUID()],
    )
    return (await db.database.run(RESCUE, [JSON.stringify([id])]))[0]!.status
  }
  expect([await lose(), await lose(), await lose()]).toEqual(['RETRY_SCHEDULED', 'RETRY_SCHEDULED', 'FAILED'])
  // Not 0: it is still run where nothing else runs.
  expect((await act(job, 'RETRY', id!)).job).toMatchObject({ lost: 2, attempt: 3, attemptBase: 3 })
  expect(await lose()).toBe('FAILED')
})
