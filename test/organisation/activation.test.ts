import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import {
  activeVersion,
  addAttribute,
  addValue,
  BlockingIssuesError,
  createDraft,
  DraftAlreadyExistsError,
  importPeople,
  modelOf,
  personaAudience,
  personaById,
  StagedEffectConflictError,
  updatePersona,
  versionById,
  type Drafts,
} from '../../src/domain/organisation/index.ts'
import { useDatabase } from '../harness/database.ts'
import { finished, gate, useEngines } from '../jobs/support.ts'
import { controlled, DONE, finds, KEY, MAKE_TRACE } from './resolutions-controlled.ts'
import { holdInvariants } from './resolutions-invariants.ts'
import {
  choose,
  draftOf,
  dropAttribute,
  dropValue,
  edit,
  issuesOf,
  openScene,
  quickDrafts,
  seen,
  type Scene,
} from './resolutions-scene.ts'
import { openDraft, personByExternalId, personValues, withRoles } from './tenant.ts'

const db = useDatabase()
const engines = useEngines(db)
const drafts = quickDrafts()

let scene: Scene
let department: string
beforeAll(() => db.pool.query(MAKE_TRACE))
beforeEach(async () => {
  scene = await openScene(db.database)
  department = scene.attribute('department')
})
afterEach(() => db.pool.query('delete from job where worker_id is null'))

const inDepartment = (...keys: string[]) => ({
  op: 'cond',
  field: department,
  cmp: 'in',
  values: keys.map((key) => scene.value('department', key)),
})
const above = (literal: number) => ({ op: 'cond', field: scene.attribute('level'), cmp: 'gt', literal })
const all = (...items: unknown[]) => ({ op: 'and', items })

const inUse = (id: string) => `persona.attribute_in_use:${id}`
const orphaned = (id: string) => `employee.values_orphaned:${id}`

/** Submits, runs and waits until it is COMPLETED. */
async function resolve(key: string, actionType: string, payload?: unknown, by: Drafts = drafts): Promise<string> {
  const id = await choose(by, scene.call, key, actionType, payload)
  const { engine } = await engines.start([by.resolutionJob])
  await expect
    .poll(
      async () => {
        const { status, errorCode, error } = await seen(scene.call, id)
        return `${status} ${errorCode ?? ''} ${error ?? ''}`.trim()
      },
      { timeout: 20_000, interval: 20 },
    )
    .toBe('COMPLETED')
  await engine.stop()
  return id
}

async function activate(by: Drafts = drafts, idempotencyKey: string | null = null) {
  const { contentRevision } = await draftOf(scene.call)
  return by.activateDraft(scene.call, { expectedContentRevision: contentRevision, idempotencyKey })
}

const audience = async (personaId: string) => (await personaAudience(scene.call, { personaId, limit: 1 })).count
const refusal = (attempt: Promise<unknown>) =>
  attempt.then(
    () => null,
    (error: unknown) => error,
  )

/** A draft without departments but with divisions in their place. */
async function replaceDepartments(): Promise<(key: string) => string> {
  const { attribute } = await edit(scene.call, (input) =>
    addAttribute(scene.call, {
      ...input,
      key: 'division',
      label: 'Division',
      dataType: 'SINGLE_SELECT',
      replacesAttributeId: department,
    }),
  )
  const values = new Map<string, string>()
  for (const key of ['sales', 'research', 'hr']) {
    const { value } = await edit(scene.call, (input) =>
      addValue(scene.call, { ...input, attributeId: attribute.id, key, label: key }),
    )
    values.set(key, value.id)
  }
  await dropAttribute(scene.call, department)
  return (key) => values.get(key) ?? attribute.id
}

describe('staged effects', () => {
  test('C30 nothing live changes until the activation, and then all of it at once', async () => {
    const persona = await scene.persona('Sales above 1', all(inDepartment('sales'), above(1)))
    const division = await replaceDepartments()
    await resolve(inUse(persona.id), 'persona.update_filter_value')
    await resolve(orphaned(department), 'employee.migrate_values')
    expect(await personaById(scene.call, persona.id)).toEqual(persona)
    expect(await audience(persona.id)).toBe(1)
    expect(await drafts.canActivate(scene.call)).toMatchObject({ canActivate: true, reasons: [], stale: false })
    await holdInvariants(scene.call)

    const draft = await draftOf(scene.call)
    const activation = await activate()
    expect(activation).toMatchObject({
      versionId: draft.id,
      audienceReceipt: [{ personaId: persona.id, before: 1, after: 1 }],
    })
    expect(await activeVersion(scene.call)).toMatchObject({ id: draft.id, activatedBy: 'anna' })
    expect(await versionById(scene.call, activation.previousVersionId)).toMatchObject({ status: 'ARCHIVED' })
    expect(await personaById(scene.call, persona.id)).toMatchObject({
      validity: 'VALID',
      revision: 2,
      filter: all({ op: 'cond', field: division('attribute'), cmp: 'in', values: [division('sales')] }, above(1)),
    })
    expect(await audience(persona.id)).toBe(1)
    await holdInvariants(scene.call)
  })

  test('C30 a discard leaves everything as it was', async () => {
    const persona = await scene.persona('Sales', all(inDepartment('sales'), above(1)))
    await dropAttribute(scene.call, department)
    await resolve(inUse(persona.id), 'persona.remove_condition')
    await drafts.discardDraft(scene.call, { reason: 'Not now' })
    expect(await personaById(scene.call, persona.id)).toEqual(persona)
    expect(
      (await db.pool.query('select id from org_model_staged_effect where tenant_id = $1', [scene.call.viewer.tenantId]))
        .rows,
    ).toEqual([])
    await holdInvariants(scene.call)
  })

  test('C40 an edit elsewhere in the filter merges; an edit of the very condition is a conflict', async () => {
    const persona = await scene.persona('Sales', all(inDepartment('sales'), above(1)))
    await dropAttribute(scene.call, department)
    await resolve(inUse(persona.id), 'persona.remove_condition')
    await resolve(orphaned(department), 'employee.archive_values')
    const edited = await updatePersona(scene.call, {
      personaId: persona.id,
      expectedRevision: 1,
      filter: all({ ...inDepartment('sales'), cmp: 'notIn' }, above(2)),
    })
    expect((await issuesOf(drafts, scene.call)).get(inUse(persona.id))?.state).toBe('INEFFECTIVE')
    await expect(activate()).rejects.toMatchObject({ issues: [{ key: inUse(persona.id) }] })
    await updatePersona(scene.call, {
      personaId: persona.id,
      expectedRevision: edited.revision,
      filter: all(inDepartment('sales'), above(2)),
    })
    expect((await issuesOf(drafts, scene.call)).get(inUse(persona.id))?.state).toBe('RESOLVED')
    await activate()
    expect(await personaById(scene.call, persona.id)).toMatchObject({ filter: all(above(2)) })
    await holdInvariants(scene.call)
  })

  test('C40 what was confirmed for some people does not happen to others', async () => {
    await dropAttribute(scene.call, department)
    await resolve(orphaned(department), 'employee.clear_values', { expectedCount: 5, confirmation: 'Department' })
    await importPeople(scene.call, { people: [{ externalId: 'p7', values: { department: 'hr' } }] })
    const before = await draftOf(scene.call)
    const error = await refusal(activate())
    expect(error).toBeInstanceOf(StagedEffectConflictError)
    expect(error).toMatchObject({
      code: 'orgmodel.version.staged_effect_conflict',
      conflicts: [{ reason: expect.stringContaining('6 people') }],
    })
    expect(await openDraft(scene.call)).toEqual(before)
    await holdInvariants(scene.call)
  })

  test('C35 what a resolution points to leaves the draft: it blocks', async () => {
    const persona = await scene.persona('Sales', all(inDepartment('sales'), above(1)))
    const division = await replaceDepartments()
    const id = await resolve(inUse(persona.id), 'persona.update_filter_value')
    await resolve(orphaned(department), 'employee.archive_values')
    expect((await drafts.canActivate(scene.call)).canActivate).toBe(true)
    await dropAttribute(scene.call, division('attribute'))
    const issues = await issuesOf(drafts, scene.call)
    expect(issues.get(`resolution.target_invalid:${id}`) ?? issues.get(inUse(persona.id))).toMatchObject({
      severity: 'BLOCKING',
    })
    await expect(activate()).rejects.toBeInstanceOf(BlockingIssuesError)
  })

  test('C35 a value that a mapping points to leaves the draft: the resolution is named', async () => {
    const persona = await scene.persona('Sales', all(inDepartment('sales'), above(1)))
    const division = await replaceDepartments()
    const id = await resolve(inUse(persona.id), 'persona.update_filter_value')
    await resolve(orphaned(department), 'employee.archive_values')
    await dropValue(scene.call, division('sales'))
    const key = `resolution.target_invalid:${id}`
    expect((await issuesOf(drafts, scene.call)).get(key)).toMatchObject({ state: 'OPEN', severity: 'BLOCKING' })
    await expect(activate()).rejects.toMatchObject({ issues: [{ key }] })
  })
})

describe('what people hold', () => {
  const values = async (externalId: string) => {
    const person = await personByExternalId(scene.call, externalId)
    const model = await modelOf(scene.call, (await activeVersion(scene.call)).id)
    const held = (await personValues(scene.call, [person!.id])).get(person!.id) ?? []
    return held
      .filter(({ valueId }) => valueId !== null)
      .map(
        ({ attributeId, valueId }) =>
          `${model!.attributes.get(attributeId)?.key ?? 'gone'}/${model!.values.get(valueId!)?.key ?? 'gone'}`,
      )
      .toSorted()
  }

  test('E9 moved to the values of another attribute', async () => {
    await replaceDepartments()
    await resolve(orphaned(department), 'employee.migrate_values')
    await activate()
    expect([await values('p1'), await values('p5')]).toEqual([
      ['division/sales', 'skills/a', 'skills/b'],
      ['division/hr', 'place/be'],
    ])
  })

  test('E9 two values of one list become one, and who had both has it once', async () => {
    const [a, b] = [scene.value('skills', 'a'), scene.value('skills', 'b')]
    await dropValue(scene.call, a)
    await resolve(orphaned(a), 'employee.migrate_values', { mapping: [{ from: a, to: b }], unmapped: 'block' })
    await activate()
    expect([await values('p1'), await values('p2')]).toEqual([
      ['department/sales', 'skills/b'],
      ['department/sales', 'skills/b'],
    ])
  })

  test('E9 archived, with the day on which it goes', async () => {
    await dropAttribute(scene.call, department)
    await resolve(orphaned(department), 'employee.archive_values', { retentionDays: 30 })
    await activate()
    expect(await values('p1')).toEqual(['skills/a', 'skills/b'])
    const { rows } = await db.pool.query(
      `select count(*)::int as people, max(delete_after) - max(archived_at) = interval '30 days' as kept
       from person_attribute_value_archive where tenant_id = $1`,
      [scene.call.viewer.tenantId],
    )
    expect(rows).toEqual([{ people: 5, kept: true }])
  })
})

describe('deciding', () => {
  test('blocking issues are listed, and nothing has moved', async () => {
    const persona = await scene.persona('Sales', inDepartment('sales'))
    await dropAttribute(scene.call, department)
    const error = await refusal(activate())
    expect(error).toBeInstanceOf(BlockingIssuesError)
    expect(error).toMatchObject({ code: 'orgmodel.version.blocking_issues_not_resolved' })
    expect((error as BlockingIssuesError).issues.map(({ key }) => key)).toEqual([
      orphaned(department),
      inUse(persona.id),
    ])
    expect((await drafts.canActivate(scene.call)).reasons).toEqual([
      { code: 'orgmodel.version.blocking_issues_not_resolved', issueKeys: [orphaned(department), inUse(persona.id)] },
    ])
    await holdInvariants(scene.call)
  })

  test('a draft that changes nothing', async () => {
    await createDraft(scene.call, {})
    expect((await drafts.canActivate(scene.call)).reasons).toEqual([
      { code: 'orgmodel.version.no_changes', issueKeys: ['model.no_changes:'] },
    ])
    await expect(activate()).rejects.toMatchObject({ code: 'orgmodel.version.no_changes' })
  })

  test('C33 what came after the evaluation counts: a persona that needs what the draft removes', async () => {
    await dropAttribute(scene.call, scene.attribute('remark'))
    expect((await drafts.canActivate(scene.call)).canActivate).toBe(true)
    const persona = await scene.persona('Remarkable', { op: 'cond', field: scene.attribute('remark'), cmp: 'isSet' })
    expect(await drafts.canActivate(scene.call, { bringUpToDate: false })).toMatchObject({
      canActivate: false,
      stale: true,
      reasons: [{ code: 'orgmodel.version.evaluation_stale' }],
    })
    await expect(activate()).rejects.toMatchObject({ issues: [{ key: inUse(persona.id) }] })
  })

  test('C33 what is being written downstream at this moment is waited for, then evaluated', async () => {
    await dropAttribute(scene.call, scene.attribute('remark'))
    const { tenantId } = scene.call.viewer
    const writer = await db.pool.connect()
    await writer.query('begin')
    const { rows } = await writer.query(
      'update org_model_downstream_clock set revision = revision + 1 where tenant_id = $1 returning revision',
      [tenantId],
    )
    const activating = activate()
    const waiting = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and query ~ 'org_model_downstream_clock'
      and datname = current_database()`
    await expect.poll(async () => (await db.pool.query(waiting)).rowCount).toBe(1)
    await writer.query('commit')
    writer.release()
    const { evaluationId } = await activating
    const decidedBy = await db.pool.query('select downstream_revision from org_model_evaluation where id = $1', [
      evaluationId,
    ])
    expect(decidedBy.rows).toEqual([{ downstream_revision: rows[0].revision }])
  })

  test('C38 the base is no longer the active version', async () => {
    await dropAttribute(scene.call, scene.attribute('remark'))
    await db.pool.query(
      `update org_model_version v set base_version_id = (select id from org_model_version where tenant_id = v.tenant_id and number = 1)
       where tenant_id = $1 and status = 'DRAFT'`,
      [scene.call.viewer.tenantId],
    )
    await expect(activate()).rejects.toMatchObject({ code: 'orgmodel.version.base_outdated' })
  })

  test('C39 an evaluator that fails keeps the draft from being activated', async () => {
    await dropAttribute(scene.call, scene.attribute('remark'))
    const evaluate = () => {
      throw new Error('no')
    }
    const failing = quickDrafts({ evaluators: [{ ...finds, proposes: [], evaluate }] })
    expect(await failing.canActivate(scene.call)).toMatchObject({
      canActivate: false,
      reasons: [{ code: 'orgmodel.version.evaluation_failed', issueKeys: ['evaluator.failed:test'] }],
    })
    await expect(activate(failing)).rejects.toMatchObject({ code: 'orgmodel.version.evaluation_failed' })
    // Other evaluators, another registry: the evaluation above is not theirs (P12).
    expect((await drafts.canActivate(scene.call)).canActivate).toBe(true)
  })

  test('only who may activate, and only what was looked at', async () => {
    await dropAttribute(scene.call, scene.attribute('remark'))
    const { contentRevision } = await draftOf(scene.call)
    const editor = withRoles(scene.call, 'editor')
    await expect(drafts.activateDraft(editor, { expectedContentRevision: contentRevision })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    await expect(
      drafts.activateDraft(scene.call, { expectedContentRevision: contentRevision - 1 }),
    ).rejects.toMatchObject({ code: 'orgmodel.version.draft_changed' })
    await activate()
    await expect(drafts.activateDraft(scene.call, { expectedContentRevision: contentRevision })).rejects.toMatchObject({
      code: 'orgmodel.version.no_draft',
    })
  })
})

describe('at the same time', () => {
  test('C36 two drafts at once: one is opened, the other is told which', async () => {
    const results = await Promise.allSettled([createDraft(scene.call, {}), createDraft(scene.call, {})])
    const opened = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value.id] : []))
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
    expect(opened).toHaveLength(1)
    expect(refused).toMatchObject([{ draftId: opened[0] }])
    expect(refused[0]).toBeInstanceOf(DraftAlreadyExistsError)
  })

  test('the same key twice at once is one activation; another key finds no draft', async () => {
    await dropAttribute(scene.call, scene.attribute('remark'))
    const { contentRevision } = await draftOf(scene.call)
    const by = (idempotencyKey: string) =>
      drafts.activateDraft(scene.call, { expectedContentRevision: contentRevision, idempotencyKey })
    const [one, two] = await Promise.all([by('k'), by('k')])
    expect(two).toEqual(one)
    expect(await by('k')).toEqual(one)
    await expect(by('other')).rejects.toMatchObject({ code: 'orgmodel.version.no_draft' })
  })

  test('a key that was used for other content, or that is no key, activates nothing', async () => {
    await dropAttribute(scene.call, scene.attribute('remark'))
    const { contentRevision } = await draftOf(scene.call)
    const by = (idempotencyKey: string, expectedContentRevision = contentRevision) =>
      drafts.activateDraft(scene.call, { expectedContentRevision, idempotencyKey })
    for (const key of ['', 'k'.repeat(129), 'k'.repeat(300)])
      await expect(by(key)).rejects.toMatchObject({ code: 'VALIDATION_FAILED', path: ['idempotencyKey'] })
    await by('k'.repeat(128))
    await expect(by('k'.repeat(128), contentRevision + 1)).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' })
  })

  describe('C32 an activation and a new choice, both waiting at the version', () => {
    /** Lets both queue up behind a lock on the versions, in this order, then lets go. */
    async function queued(first: () => Promise<unknown>, second: () => Promise<unknown>) {
      const holder = await db.pool.connect()
      const waiters = async () =>
        (
          await db.pool.query(
            `select count(*)::int as n from pg_stat_activity where datname = current_database()
             and wait_event_type = 'Lock' and query ilike '%org_model_version%'`,
          )
        ).rows[0].n
      await holder.query('begin')
      await holder.query('select from org_model_version where tenant_id = $1 for update', [scene.call.viewer.tenantId])
      const one = Promise.allSettled([first()])
      await expect.poll(waiters, { timeout: 10_000 }).toBe(1)
      const two = Promise.allSettled([second()])
      await expect.poll(waiters, { timeout: 10_000 }).toBe(2)
      await holder.query('rollback')
      holder.release()
      return [(await one)[0], (await two)[0]]
    }

    let again: () => Promise<unknown>
    beforeEach(async () => {
      const persona = await scene.persona('Sales', all(inDepartment('sales'), above(1)))
      await dropAttribute(scene.call, department)
      await resolve(inUse(persona.id), 'persona.remove_condition')
      await resolve(orphaned(department), 'employee.archive_values')
      again = () =>
        drafts.submitResolutions(scene.call, {
          resolutions: [
            {
              issueCode: 'persona.attribute_in_use',
              affectedEntityId: persona.id,
              chosenActionType: 'persona.archive',
              actionPayload: { reason: 'Rather so' },
            },
          ],
        })
    })

    test('the activation is first: there is no draft to choose for', async () => {
      const [activated, submitted] = await queued(activate, again)
      expect(activated).toMatchObject({ status: 'fulfilled' })
      expect(submitted).toMatchObject({ reason: { code: 'orgmodel.version.no_draft_to_submit_resolutions' } })
      await holdInvariants(scene.call)
    })

    test('the choice is first: it is on its way, so nothing is activated', async () => {
      const [submitted, activated] = await queued(again, activate)
      expect(submitted).toMatchObject({ status: 'fulfilled' })
      expect(activated).toMatchObject({ reason: { code: 'orgmodel.version.blocking_issues_not_resolved' } })
      await holdInvariants(scene.call)
    })
  })

  test('C31 a discard while a resolution waits: cancelled, and its job can do nothing', async () => {
    await dropAttribute(scene.call, department)
    const id = await choose(drafts, scene.call, orphaned(department), 'employee.archive_values')
    const { jobId } = await seen(scene.call, id)
    expect(await drafts.discardDraft(scene.call, { reason: 'No' })).toMatchObject({
      status: 'DISCARDED',
      discardReason: 'No',
    })
    expect(await seen(scene.call, id)).toMatchObject({
      status: 'FAILED',
      errorCode: 'orgmodel.resolution.cancelled',
      submissionNo: 2,
    })
    expect(await finished(db, jobId)).toMatchObject({ status: 'CANCELLED' })
    await holdInvariants(scene.call)
  })

  test('C31 a discard while a resolution is being carried out waits for it, and its effect is gone', async () => {
    const [running, go] = [gate(), gate()]
    const slow = controlled({
      async execute() {
        running.open()
        await go.promise
        return DONE
      },
    })
    await dropAttribute(scene.call, scene.attribute('remark'))
    const id = await choose(slow, scene.call, KEY, 'test.one')
    await engines.start([slow.resolutionJob])
    await running.promise
    const discarded = slow.discardDraft(scene.call, { reason: 'No' })
    go.open()
    expect(await discarded).toMatchObject({ status: 'DISCARDED' })
    // Whichever commit came first: nothing staged is left, and nothing is in flight.
    expect(['COMPLETED', 'FAILED']).toContain((await seen(scene.call, id)).status)
    await holdInvariants(scene.call)
  })

  test('whoever holds the draft too long makes the activation say so, and nothing is lost', async () => {
    await dropAttribute(scene.call, scene.attribute('remark'))
    const holder = await db.pool.connect()
    await holder.query('begin')
    await holder.query('select from org_model_version where tenant_id = $1 for share', [scene.call.viewer.tenantId])
    await expect(activate()).rejects.toMatchObject({ code: 'orgmodel.version.busy' })
    await holder.query('rollback')
    holder.release()
    await activate()
  }, 15_000)
})

test('a failure in the last statement undoes all of it', async () => {
  const persona = await scene.persona('Sales', all(inDepartment('sales'), above(1)))
  await replaceDepartments()
  await resolve(inUse(persona.id), 'persona.update_filter_value')
  await resolve(orphaned(department), 'employee.migrate_values')
  const before = await draftOf(scene.call)
  await db.pool.query(
    `create function refuse_receipt() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$`,
  )
  await db.pool.query(
    'create trigger refuse after insert on org_model_activation for each row execute function refuse_receipt()',
  )
  try {
    await expect(activate()).rejects.toThrow()
  } finally {
    await db.pool.query('drop trigger refuse on org_model_activation; drop function refuse_receipt()')
  }
  expect([await openDraft(scene.call), await personaById(scene.call, persona.id)]).toEqual([before, persona])
  expect((await personByExternalId(scene.call, 'p1')) !== null && (await audience(persona.id))).toBe(1)
  await holdInvariants(scene.call)
  await activate()
  await holdInvariants(scene.call)
})
