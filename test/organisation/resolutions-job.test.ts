import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { Failure } from '../../src/errors/index.ts'
import { Permits } from '../../src/jobs/engine/permits.ts'
import { rescueLostJobs } from '../../src/jobs/engine/rescue.ts'
import { enqueue, JobRegistry } from '../../src/jobs/index.ts'
import {
  addAttribute,
  composeDrafts,
  resolutionLifecycle,
  updatePersona,
  versionLifecycle,
  type Drafts,
  type ExecutionResult,
} from '../../src/domain/organisation/index.ts'
import { transition } from '../../src/transitions/index.ts'
import { useDatabase } from '../harness/database.ts'
import { finished, gate, lapse, makeDue, silent, useEngines, waiting } from '../jobs/support.ts'
import { expectDatabaseAgrees } from '../transitions/agreement.ts'
import { controlled, DONE, KEY, MAKE_TRACE, type Hooks } from './resolutions-controlled.ts'
import { holdInvariants } from './resolutions-invariants.ts'
import {
  choose,
  dropAttribute,
  edit,
  issuesOf,
  openScene,
  quickDrafts,
  seen,
  timeline,
  type Scene,
} from './resolutions-scene.ts'

const db = useDatabase()
const engines = useEngines(db)
const HOUR = 3_600_000
/** A condition that comes true by itself, on a machine that may be busy. */
const PATIENTLY = { timeout: 20_000, interval: 20 }
const VICTIM = fileURLToPath(new URL('resolutions-victim.ts', import.meta.url))

let scene: Scene
beforeAll(() => db.pool.query(MAKE_TRACE))
beforeEach(async () => {
  scene = await openScene(db.database)
})
afterEach(async () => {
  vi.useRealTimers()
  // What a test left waiting would be carried out by the next one's engine.
  await db.pool.query('delete from job where worker_id is null')
})

const status = (id: string) => expect.poll(async () => (await seen(scene.call, id)).status, PATIENTLY)
const ended = (jobId: string) => expect.poll(() => finished(db, jobId), PATIENTLY)
const traces = async (tenantId = scene.call.viewer.tenantId) =>
  (await db.pool.query('select who from test_effect where tenant_id = $1', [tenantId])).rows.map(({ who }) => who)

/** A draft in which `test.found:` is to be resolved. */
const somethingToResolve = () =>
  edit(scene.call, (input) => addAttribute(scene.call, { ...input, key: 'extra', label: 'Extra', dataType: 'TEXT' }))

/** Hooks whose answers a test gives one by one; the last one stays. */
function answering(...answers: (ExecutionResult | Error)[]): Hooks & { calls: number } {
  const hooks = {
    calls: 0,
    async execute() {
      const answer = answers[Math.min(hooks.calls++, answers.length - 1)]!
      if (answer instanceof Error) throw answer
      return answer
    },
  }
  return hooks
}

const busy = () => new Failure('TRANSIENT', 'test.busy', 'Busy.')

describe('attempts', () => {
  test('C22 three failures and then success: FAILED is never seen', async () => {
    await somethingToResolve()
    const hooks = answering(busy(), busy(), busy(), DONE)
    const drafts = controlled(hooks)
    const id = await choose(drafts, scene.call, KEY, 'test.one')
    await engines.start([drafts.resolutionJob])
    await status(id).toBe('COMPLETED')
    expect(await timeline(scene.call, id)).toEqual([
      'PENDING/0',
      'PROCESSING/1',
      'PENDING/1',
      'PROCESSING/2',
      'PENDING/2',
      'PROCESSING/3',
      'PENDING/3',
      'PROCESSING/4',
      'COMPLETED/4',
    ])
    expect(await seen(scene.call, id)).toMatchObject({ attempt: 4, error: null, errorCode: null, nextAttemptAt: null })
    expect(await traces()).toEqual(['test.one'])
    await holdInvariants(scene.call)
  })

  test('C23 always failing: four runs, one FAILED', async () => {
    await somethingToResolve()
    const hooks = answering(busy())
    const drafts = controlled(hooks)
    const id = await choose(drafts, scene.call, KEY, 'test.one')
    await engines.start([drafts.resolutionJob])
    await status(id).toBe('FAILED')
    expect(hooks.calls).toBe(4)
    expect((await timeline(scene.call, id)).filter((entry) => entry.startsWith('FAILED'))).toEqual(['FAILED/4'])
    expect(await seen(scene.call, id)).toMatchObject({ errorCode: 'test.busy', error: 'Busy.', maxAttempts: 4 })
    expect(await traces()).toEqual([])
    await holdInvariants(scene.call)
  })

  test('C22 between two attempts it is PENDING, with the number of the last and the moment of the next', async () => {
    await somethingToResolve()
    const drafts = controlled(answering(busy()), { retryDelaysMs: [HOUR, HOUR, HOUR] })
    const id = await choose(drafts, scene.call, KEY, 'test.one')
    await engines.start([drafts.resolutionJob])
    await expect.poll(async () => (await seen(scene.call, id)).nextAttemptAt, PATIENTLY).not.toBeNull()
    const between = await seen(scene.call, id)
    expect(between).toMatchObject({
      status: 'PENDING',
      attempt: 1,
      error: null,
      lastAttemptError: 'Busy.',
      lastAttemptCode: 'test.busy',
    })
    expect(between.nextAttemptAt!.getTime()).toBeGreaterThan(between.scheduledAt.getTime() + HOUR / 2)
    await holdInvariants(scene.call)
  })

  test('C24 what cannot get better is not tried again: a payload that has become invalid', async () => {
    await somethingToResolve()
    const hooks = answering(DONE)
    const drafts = controlled(hooks)
    const id = await choose(drafts, scene.call, KEY, 'test.one')
    await db.pool.query(`update org_model_draft_resolution set action_payload = '{"x":1}' where id = $1`, [id])
    await engines.start([drafts.resolutionJob])
    await status(id).toBe('FAILED')
    expect(await seen(scene.call, id)).toMatchObject({ attempt: 1, errorCode: 'orgmodel.resolution.payload_invalid' })
    expect(hooks.calls).toBe(0)
  })

  test('C47 what a handler throws is never shown', async () => {
    await somethingToResolve()
    const drafts = controlled(answering(new Error('duplicate key of somebody@example.org')), { retryDelaysMs: [] })
    const id = await choose(drafts, scene.call, KEY, 'test.one')
    await engines.start([drafts.resolutionJob])
    await status(id).toBe('FAILED')
    const resolution = await seen(scene.call, id)
    expect(resolution).toMatchObject({ errorCode: 'orgmodel.resolution.unexpected' })
    const { rows } = await db.pool.query('select data::text from event where subject_id = $1', [id])
    expect(JSON.stringify([resolution, rows])).not.toContain('example.org')
  })

  test('C51 moments are the database’s, whatever a worker believes the time to be', async () => {
    await somethingToResolve()
    const drafts = controlled(answering(DONE))
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2001-01-01') })
    const id = await choose(drafts, scene.call, KEY, 'test.one')
    await engines.start([drafts.resolutionJob])
    await status(id).toBe('COMPLETED')
    vi.useRealTimers()
    const { scheduledAt, processingStartedAt, executedAt } = await seen(scene.call, id)
    const [first, second, third] = [scheduledAt, processingStartedAt!, executedAt!].map((moment) => moment.getTime())
    expect(first).toBeGreaterThan(Date.parse('2020-01-01'))
    expect([first! <= second!, second! <= third!]).toEqual([true, true])
  })

  test('C22 a persona that somebody is writing makes it wait and try again, never fail', async () => {
    const drafts = quickDrafts({ retryDelaysMs: [HOUR] })
    const department = scene.attribute('department')
    const persona = await scene.persona('Sales', { op: 'cond', field: department, cmp: 'isSet' })
    await dropAttribute(scene.call, department)
    const id = await choose(drafts, scene.call, `persona.attribute_in_use:${persona.id}`, 'persona.archive')
    const { jobId } = await seen(scene.call, id)
    const other = await db.pool.connect()
    await other.query('begin')
    await other.query('select from persona where id = $1 for update', [persona.id])
    const { engine } = await engines.start([drafts.resolutionJob])
    await expect.poll(() => waiting(db, jobId), PATIENTLY).toMatchObject({ status: 'RETRY_SCHEDULED' })
    expect(await seen(scene.call, id)).toMatchObject({
      status: 'PENDING',
      attempt: 1,
      lastAttemptCode: 'orgmodel.resolution.target_busy',
    })
    await other.query('rollback')
    other.release()
    await makeDue(db, jobId)
    engine.wake()
    await status(id).toBe('COMPLETED')
    expect(await timeline(scene.call, id)).toEqual([
      'PENDING/0',
      'PROCESSING/1',
      'PENDING/1',
      'PROCESSING/2',
      'COMPLETED/2',
    ])
    await holdInvariants(scene.call)
  })
})

describe('stale jobs', () => {
  test('C14 another choice while the first runs: the first has no effect and its job ends cancelled', async () => {
    await somethingToResolve()
    const [running, go] = [gate(), gate()]
    const drafts = controlled({
      async execute(which) {
        if (which === 'test.one') {
          running.open()
          await go.promise
        }
        return DONE
      },
    })
    const id = await choose(drafts, scene.call, KEY, 'test.one')
    const { jobId } = await seen(scene.call, id)
    const { engine } = await engines.start([drafts.resolutionJob], { concurrency: 1 })
    await running.promise
    // The second choice waits for nobody.
    expect(await choose(drafts, scene.call, KEY, 'test.two')).toBe(id)
    expect(await seen(scene.call, id)).toMatchObject({ status: 'PENDING', submissionNo: 2 })
    go.open()
    await ended(jobId).toMatchObject({ status: 'CANCELLED', code: 'orgmodel.resolution.superseded' })
    engine.wake()
    await status(id).toBe('COMPLETED')
    expect(await traces()).toEqual(['test.two'])
    await holdInvariants(scene.call)
  })

  test('C15 another choice between two attempts: the old job is cancelled and the new payload runs once', async () => {
    await somethingToResolve()
    const hooks = answering(busy(), DONE)
    const drafts = controlled(hooks, { retryDelaysMs: [HOUR] })
    const id = await choose(drafts, scene.call, KEY, 'test.one')
    const { jobId } = await seen(scene.call, id)
    const { engine } = await engines.start([drafts.resolutionJob])
    await expect.poll(() => waiting(db, jobId), PATIENTLY).toMatchObject({ status: 'RETRY_SCHEDULED' })
    await choose(drafts, scene.call, KEY, 'test.two')
    expect(await finished(db, jobId)).toMatchObject({ status: 'CANCELLED', reason: 'orgmodel.resolution.superseded' })
    await makeDue(db, jobId)
    engine.wake()
    await status(id).toBe('COMPLETED')
    expect(hooks.calls).toBe(2)
    expect(await traces()).toEqual(['test.two'])
    await holdInvariants(scene.call)
  })

  test('C16 a late job of an earlier submission changes nothing about a completed resolution', async () => {
    await somethingToResolve()
    const hooks = answering(DONE)
    const drafts = controlled(hooks)
    const id = await choose(drafts, scene.call, KEY, 'test.one')
    await choose(drafts, scene.call, KEY, 'test.two')
    const { engine } = await engines.start([drafts.resolutionJob])
    await status(id).toBe('COMPLETED')
    const before = await seen(scene.call, id)
    for (const submissionNo of [1, 2]) {
      const { jobId } = await enqueue(db.database, drafts.resolutionJob, {
        tenantId: scene.call.viewer.tenantId,
        payload: { resolutionId: id, submissionNo },
        correlationId: 'late',
        triggeredBy: 'anna',
      })
      engine.wake()
      await ended(jobId).toMatchObject({ status: 'CANCELLED', reason: 'orgmodel.resolution.superseded', attempt: 1 })
    }
    expect(await seen(scene.call, id)).toEqual(before)
    expect(hooks.calls).toBe(1)
  })

  test('C19 a job whose record is gone ends cancelled after one attempt', async () => {
    const drafts = quickDrafts()
    const { jobId } = await enqueue(db.database, drafts.resolutionJob, {
      tenantId: scene.call.viewer.tenantId,
      payload: { resolutionId: randomUUID(), submissionNo: 1 },
      correlationId: 'lost',
      triggeredBy: 'anna',
    })
    await engines.start([drafts.resolutionJob])
    await ended(jobId).toMatchObject({ status: 'CANCELLED', reason: 'orgmodel.resolution.not_found', attempt: 1 })
  })

  test('C20 an old worker meets a new action: it is tried again, and a new worker carries it out', async () => {
    await somethingToResolve()
    const newer = controlled(answering(DONE), { retryDelaysMs: [HOUR, HOUR] })
    const id = await choose(newer, scene.call, KEY, 'test.one')
    const { jobId } = await seen(scene.call, id)
    const old = composeDrafts()
    const { engine } = await engines.start([old.resolutionJob])
    await expect.poll(() => waiting(db, jobId), PATIENTLY).toMatchObject({ status: 'RETRY_SCHEDULED' })
    expect(await seen(scene.call, id)).toMatchObject({
      status: 'PENDING',
      lastAttemptCode: 'orgmodel.resolution.handler_not_registered',
    })
    await engine.stop()
    await makeDue(db, jobId)
    await engines.start([newer.resolutionJob])
    await status(id).toBe('COMPLETED')
  })
})

describe('what has changed since the choice', () => {
  test('C34 the issue is another one at the next attempt: FAILED, and the job is cancelled', async () => {
    const drafts = quickDrafts({ retryDelaysMs: [HOUR, HOUR] })
    const department = scene.attribute('department')
    const filter = { op: 'cond', field: department, cmp: 'isSet' }
    const persona = await scene.persona('Sales', filter)
    await dropAttribute(scene.call, department)
    const id = await choose(drafts, scene.call, `persona.attribute_in_use:${persona.id}`, 'persona.archive')
    const { jobId } = await seen(scene.call, id)
    const other = await db.pool.connect()
    await other.query('begin')
    await other.query('select from persona where id = $1 for update', [persona.id])
    const { engine } = await engines.start([drafts.resolutionJob])
    await expect.poll(() => waiting(db, jobId), PATIENTLY).toMatchObject({ status: 'RETRY_SCHEDULED' })
    await other.query('rollback')
    other.release()
    // The filter gains a reference while the resolution waits.
    await updatePersona(scene.call, {
      personaId: persona.id,
      expectedRevision: persona.revision,
      filter: {
        op: 'or',
        items: [filter, { op: 'cond', field: department, cmp: 'in', values: [scene.value('department', 'hr')] }],
      },
    })
    await makeDue(db, jobId)
    engine.wake()
    await status(id).toBe('FAILED')
    expect(await seen(scene.call, id)).toMatchObject({ errorCode: 'orgmodel.resolution.issue_changed', attempt: 2 })
    expect(await finished(db, jobId)).toMatchObject({ status: 'CANCELLED' })
    await holdInvariants(scene.call)
  })

  test('C46 the submitter lost the right meanwhile', async () => {
    await somethingToResolve()
    const hooks = answering(DONE)
    const drafts = controlled(hooks)
    const id = await choose(drafts, scene.call, KEY, 'test.one')
    await db.pool.query('update membership set revoked_at = now() where tenant_id = $1', [scene.call.viewer.tenantId])
    await engines.start([drafts.resolutionJob])
    await status(id).toBe('FAILED')
    expect(await seen(scene.call, id)).toMatchObject({ errorCode: 'orgmodel.resolution.forbidden_at_execution' })
    expect(hooks.calls).toBe(0)
  })

  test('C11 C01 a completed resolution counts for its issue alone, and only as long as the problem is the same', async () => {
    const drafts = quickDrafts()
    const [department, skills] = [scene.attribute('department'), scene.attribute('skills')]
    const filter = {
      op: 'and',
      items: [department, skills].map((field) => ({ op: 'cond', field, cmp: 'isSet' })),
    }
    const [one, two] = [await scene.persona('One', filter), await scene.persona('Two', filter)]
    await dropAttribute(scene.call, department)
    const [keyOne, keyTwo] = [one, two].map(({ id }) => `persona.attribute_in_use:${id}`) as [string, string]
    const id = await choose(drafts, scene.call, keyOne, 'persona.remove_condition')
    const { engine } = await engines.start([drafts.resolutionJob])
    await status(id).toBe('COMPLETED')
    const state = async (key: string) => {
      const issue = (await issuesOf(drafts, scene.call)).get(key)
      return issue === undefined
        ? 'ABSENT'
        : `${issue.state}${issue.staleReason === null ? '' : ` ${issue.staleReason}`}`
    }
    expect([await state(keyOne), await state(keyTwo)]).toEqual(['RESOLVED', 'OPEN'])
    // (b) another name is the same problem
    await updatePersona(scene.call, { personaId: one.id, expectedRevision: one.revision, name: 'Renamed' })
    expect(await state(keyOne)).toBe('RESOLVED')
    // (a) another attribute gone is another problem
    await dropAttribute(scene.call, skills)
    expect([await state(keyOne), await state(keyTwo)]).toEqual(['STALE CHANGES', 'OPEN'])
    expect((await drafts.canActivate(scene.call)).canActivate).toBe(false)
    // (c) an evaluator that judges otherwise
    const archive = await choose(drafts, scene.call, keyOne, 'persona.archive')
    engine.wake()
    await status(archive).toBe('COMPLETED')
    expect(await state(keyOne)).toBe('RESOLVED')
    await db.pool.query(
      `update org_model_draft_resolution
       set issue_basis = issue_basis || '{"evaluator":"persona_attributes@0"}', issue_fingerprint = repeat('0', 64) where id = $1`,
      [archive],
    )
    await db.pool.query('update org_model_downstream_clock set revision = revision + 1 where tenant_id = $1', [
      scene.call.viewer.tenantId,
    ])
    expect(await state(keyOne)).toBe('STALE EVALUATOR')
    // (d) without the change there is no issue, and the record does nothing
    await drafts.discardDraft(scene.call, { reason: 'Back' })
    await somethingToResolve()
    expect(await state(keyOne)).toBe('ABSENT')
    await holdInvariants(scene.call)
  })

  test('C12 an action that reaches nothing, or after which the issue is there, is no resolution', async () => {
    await somethingToResolve()
    const drafts = controlled(answering({ kind: 'DONE', affected: 0, effects: [] }, DONE))
    for (const round of ['reaches nothing', 'is there']) {
      const id = await choose(drafts, scene.call, KEY, 'test.staged')
      const { engine } = await engines.start([drafts.resolutionJob])
      engine.wake()
      await status(id).toBe('FAILED')
      expect([round, (await seen(scene.call, id)).errorCode]).toEqual([round, 'orgmodel.resolution.ineffective'])
    }
    expect(await traces()).toEqual([])
    expect((await issuesOf(drafts, scene.call)).get(KEY)?.state).toBe('OPEN')
  })
})

describe('crashes', () => {
  const rescue = async (drafts: Drafts) => {
    const { processed } = await rescueLostJobs({
      database: db.database,
      registry: new JobRegistry([drafts.resolutionJob]),
      workerId: randomUUID(),
      logger: silent,
      transactions: new Permits(2),
      onCommitted: () => {},
      signal: null,
    })
    return processed
  }

  test.each(['before the first commit', 'after the first commit', 'in the action', 'after the last commit'])(
    'C25 C27 a process killed %s: it ends once, with one effect',
    async (point) => {
      await somethingToResolve()
      const drafts = controlled(answering(DONE))
      const id = await choose(drafts, scene.call, KEY, 'test.one')
      const victim = spawn(process.execPath, ['--import', 'tsx', VICTIM, db.url, point], { stdio: 'ignore' })
      const [code, signal] = await once(victim, 'exit')
      expect([code, signal]).toEqual([null, 'SIGKILL'])
      await db.pool.query(`update job_worker set lease_until = now() - interval '1 second'`)
      // A killed process's last transaction ends when the server notices that its connection is gone.
      const lost = point === 'after the last commit' ? 0 : 1
      await expect.poll(() => rescue(drafts), PATIENTLY).toBe(lost)
      await engines.start([drafts.resolutionJob])
      await status(id).toBe('COMPLETED')
      expect(await seen(scene.call, id)).toMatchObject({ attempt: lost + 1 })
      expect(await traces()).toEqual(['test.one'])
      await holdInvariants(scene.call)
    },
  )

  test('C26 a worker that lost its lease wakes up: the second attempt counts, the first left nothing', async () => {
    await somethingToResolve()
    const [running, go] = [gate(), gate()]
    const hooks = {
      calls: 0,
      async execute() {
        if (++hooks.calls > 1) return DONE
        running.open()
        await go.promise
        return DONE
      },
    }
    const drafts = controlled(hooks)
    const id = await choose(drafts, scene.call, KEY, 'test.one')
    const zombie = await engines.start([drafts.resolutionJob], { leaseMs: HOUR })
    await running.promise
    // Its connection dies with its lease; the process lives on and knows of neither.
    await db.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name = 'test engine' and state = 'idle in transaction'`,
    )
    await lapse(db, zombie.engine.workerId)
    await expect.poll(() => rescue(drafts), PATIENTLY).toBe(1)
    expect(await seen(scene.call, id)).toMatchObject({
      status: 'PENDING',
      lastAttemptCode: 'orgmodel.resolution.worker_lost',
    })
    await engines.start([drafts.resolutionJob])
    await status(id).toBe('COMPLETED')
    const before = await seen(scene.call, id)
    go.open()
    await zombie.signals.first('SUPERSEDED')
    expect(await seen(scene.call, id)).toEqual(before)
    expect(await traces()).toEqual(['test.one'])
    await holdInvariants(scene.call)
  })
})

describe('the record', () => {
  test('C48 C52 a status changes by a transition or not at all', async () => {
    await expectDatabaseAgrees(db.database, [resolutionLifecycle, versionLifecycle])
    await somethingToResolve()
    const drafts = controlled(answering(DONE))
    const id = await choose(drafts, scene.call, KEY, 'test.one')
    const raw = (set: string) => db.pool.query(`update org_model_draft_resolution set ${set} where id = $1`, [id])
    await expect(raw(`status = 'PROCESSING'`)).rejects.toMatchObject({ code: 'RG001' })
    await expect(raw(`status = 'PROCESSING', version = version + 1`)).rejects.toMatchObject({ code: 'RG004' })
    await expect(raw(`status = 'DONE', version = version + 1`)).rejects.toMatchObject({ code: '23514' })
    await expect(raw('submission_no = submission_no + 2')).rejects.toMatchObject({ code: 'RG022' })
    const act = { actor: 'anna', correlationId: 'c' }
    const move = (to: 'COMPLETED' | 'PENDING') =>
      scene.call.database.transaction(scene.call.viewer.tenantId, (tx) =>
        transition(tx, resolutionLifecycle, { id, to, act }),
      )
    await expect(move('COMPLETED')).rejects.toMatchObject({ code: 'INVALID_TRANSITION' })
    // PENDING again needs a new submission.
    await expect(move('PENDING')).rejects.toThrow(/new submission/)
    expect(await seen(scene.call, id)).toMatchObject({ status: 'PENDING', version: 1 })
  })

  test('the job is what the seed says people see', async () => {
    await somethingToResolve()
    const drafts: Drafts = composeDrafts({ evaluators: [], actions: [] })
    expect(drafts.resolutionJob.displayName({ resolutionId: 'x', submissionNo: 1 })).toBe(
      'OrgModel Draft Resolution [x]',
    )
    expect(drafts.resolutionJob.policy).toMatchObject({ maxAttempts: 4, delaysMs: [15_000, 60_000, 300_000] })
  })
})
