import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  addAttribute,
  addValue,
  composeDrafts,
  DraftChangedError,
  ResolutionsInvalidError,
  type Drafts,
  type ResolutionInput,
} from '../../src/domain/organisation/index.ts'
import { useDatabase } from '../harness/database.ts'
import {
  choose,
  draftOf,
  dropAttribute,
  dropValue,
  edit,
  issuesOf,
  openScene,
  seen,
  type Scene,
} from './resolutions-scene.ts'
import { controlled, DONE } from './resolutions-controlled.ts'
import { holdInvariants } from './resolutions-invariants.ts'
import { withRoles } from './tenant.ts'

const db = useDatabase()
const drafts: Drafts = composeDrafts()
let scene: Scene
let persona: string
let department: string

/** A draft without departments, and one persona that needs them. */
beforeEach(async () => {
  scene = await openScene(db.database)
  department = scene.attribute('department')
  persona = (await scene.persona('Sales', filterOn('sales'))).id
  await dropAttribute(scene.call, department)
})

const filterOn = (...keys: string[]) => ({
  op: 'and',
  items: [
    {
      op: 'cond',
      field: scene.attribute('department'),
      cmp: 'in',
      values: keys.map((key) => scene.value('department', key)),
    },
    { op: 'cond', field: scene.attribute('level'), cmp: 'gt', literal: 1 },
  ],
})

const archiving = (own: Partial<ResolutionInput> = {}): ResolutionInput => ({
  issueCode: 'persona.attribute_in_use',
  affectedEntityId: persona,
  chosenActionType: 'persona.archive',
  actionPayload: { reason: 'Not needed' },
  ...own,
})

const submit = (...resolutions: ResolutionInput[]) => drafts.submitResolutions(scene.call, { resolutions })

/** The problems that a refused request names, and proof that nothing of it was kept. */
async function problems(attempt: () => Promise<unknown>): Promise<string[]> {
  const before = await rows()
  const error: unknown = await attempt().then(
    () => new Error('It was accepted.'),
    (refusal: unknown) => refusal,
  )
  expect(await rows()).toEqual(before)
  if (!(error instanceof ResolutionsInvalidError)) throw error
  return error.items.map(
    ({ index, path, code }) => `${index} ${path.slice(2).join('/')} ${code.replace('orgmodel.resolution.', '')}`,
  )
}

const rows = async () =>
  (
    await db.pool.query(`select id, version, job_id from org_model_draft_resolution where tenant_id = $1 order by id`, [
      scene.call.viewer.tenantId,
    ])
  ).rows

const jobs = async () =>
  (
    await db.pool.query(
      `select id::text, 'WAITING' as state from job where tenant_id = $1
       union all select id::text, status from job_finished where tenant_id = $1`,
      [scene.call.viewer.tenantId],
    )
  ).rows

describe('batches', () => {
  test('C49 empty and too large are refused, order is kept, all or nothing', async () => {
    await expect(submit()).rejects.toMatchObject({ code: 'orgmodel.resolution.empty_batch' })
    const many = Array.from({ length: 101 }, () => archiving())
    await expect(submit(...many)).rejects.toMatchObject({ code: 'orgmodel.resolution.batch_too_large' })
    const orphaned = {
      issueCode: 'employee.values_orphaned',
      affectedEntityId: department,
      chosenActionType: 'employee.archive_values',
    }
    const refused = () => submit(archiving(), { ...orphaned, actionPayload: { retentionDays: 1 } })
    expect(await problems(refused)).toEqual(['1 actionPayload/retentionDays payload_invalid'])
    const accepted = await submit({ ...orphaned, actionPayload: { retentionDays: 30 } }, archiving())
    expect(accepted.map(({ issueCode }) => issueCode)).toEqual(['employee.values_orphaned', 'persona.attribute_in_use'])
    await holdInvariants(scene.call)
  })

  test('C05 the same key twice in one request names both, also in another spelling of the id', async () => {
    const twice = () => submit(archiving(), archiving({ affectedEntityId: persona.toUpperCase() }))
    expect(await problems(twice)).toEqual(['1  duplicate_in_batch'])
  })

  test('C07 an empty entity id is neither an id nor the absence of one', async () => {
    expect(await problems(() => submit(archiving({ affectedEntityId: '' })))).toEqual([
      '0 affectedEntityId payload_invalid',
    ])
  })

  test('C08 an id in upper case is the same issue', async () => {
    const [submitted] = await submit(archiving({ affectedEntityId: persona.toUpperCase() }))
    expect(submitted).toMatchObject({ affectedEntityId: persona })
    expect(await seen(scene.call, submitted!.resolutionId)).toMatchObject({
      issueKey: `persona.attribute_in_use:${persona}`,
    })
  })
})

describe('what may be chosen', () => {
  test('C42 an issue that is not there, an action that is not offered, one that nobody carries out', async () => {
    expect(await problems(() => submit(archiving({ affectedEntityId: randomUUID() })))).toEqual([
      '0 issueCode issue_not_open',
    ])
    expect(await problems(() => submit(archiving({ issueCode: 'persona.value_in_use' })))).toEqual([
      '0 issueCode issue_not_open',
    ])
    expect(await problems(() => submit(archiving({ chosenActionType: 'employee.archive_values' })))).toEqual([
      '0 chosenActionType action_not_offered',
    ])
    expect(await problems(() => submit(archiving({ chosenActionType: 'persona.clone' })))).toEqual([
      '0 chosenActionType handler_not_registered',
    ])
  })

  test('C01 the entity of a persona’s issue is the persona: the attribute’s id is no key', async () => {
    expect(await problems(() => submit(archiving({ affectedEntityId: department })))).toEqual([
      '0 issueCode issue_not_open',
    ])
  })

  test('C43 a payload that is not the action’s own', async () => {
    for (const actionPayload of [undefined, null, {}, [], 'x', { reason: '' }])
      expect(await problems(() => submit(archiving({ actionPayload })))).toHaveLength(1)
    expect(await problems(() => submit(archiving({ actionPayload: { reason: 'x', other: 1 } })))).toEqual([
      '0 actionPayload payload_invalid',
    ])
  })

  test('C44 another attribute needs a mapping for every value that the filter names', async () => {
    const { attribute } = await edit(scene.call, (input) =>
      addAttribute(scene.call, { ...input, key: 'division', label: 'Division', dataType: 'SINGLE_SELECT' }),
    )
    const { value } = await edit(scene.call, (input) =>
      addValue(scene.call, { ...input, attributeId: attribute.id, key: 'market', label: 'Market' }),
    )
    const remap = (valueMapping?: unknown) =>
      submit(
        archiving({
          chosenActionType: 'persona.update_filter_value',
          actionPayload: { newAttributeId: attribute.id, ...(valueMapping === undefined ? {} : { valueMapping }) },
        }),
      )
    const from = scene.value('department', 'sales')
    expect(await problems(() => remap())).toEqual(['0 actionPayload/valueMapping payload_invalid'])
    expect(await problems(() => remap([{ from, to: [randomUUID()] }]))).toEqual([
      '0 actionPayload/valueMapping/0/to/0 payload_reference_invalid',
    ])
    expect(await remap([{ from, to: [value.id] }])).toHaveLength(1)
  })

  test('C10 a choice must cover every place: two attributes gone, one mapped', async () => {
    const both = await scene.persona('Both', {
      op: 'and',
      items: [
        { op: 'cond', field: department, cmp: 'in', values: [scene.value('department', 'sales')] },
        { op: 'cond', field: scene.attribute('skills'), cmp: 'in', values: [scene.value('skills', 'a')] },
        { op: 'cond', field: scene.attribute('level'), cmp: 'gt', literal: 1 },
      ],
    })
    await dropAttribute(scene.call, scene.attribute('skills'))
    const { attribute } = await edit(scene.call, (input) =>
      addAttribute(scene.call, { ...input, key: 'division', label: 'Division', dataType: 'SINGLE_SELECT' }),
    )
    const { value } = await edit(scene.call, (input) =>
      addValue(scene.call, { ...input, attributeId: attribute.id, key: 'market', label: 'Market' }),
    )
    const payload = {
      newAttributeId: attribute.id,
      valueMapping: [{ from: scene.value('department', 'sales'), to: [value.id] }],
    }
    const refused = () =>
      submit(
        archiving({
          affectedEntityId: both.id,
          chosenActionType: 'persona.update_filter_value',
          actionPayload: payload,
        }),
      )
    expect(await problems(refused)).toEqual(['0 actionPayload/valueMapping payload_invalid'])
    const paths = { paths: ['/items/0'], acceptAudienceChange: true, expectedCountAfter: 5 }
    const half = () =>
      submit(
        archiving({ affectedEntityId: both.id, chosenActionType: 'persona.remove_condition', actionPayload: paths }),
      )
    expect(await problems(half)).toEqual(['0 actionPayload/paths payload_invalid'])
  })

  test('C28 an exclusive action bears no other on the same thing', async () => {
    const place = scene.value('place', 'be')
    const double = await scene.persona('Double', {
      op: 'and',
      items: [
        { op: 'cond', field: department, cmp: 'isSet' },
        { op: 'cond', field: scene.attribute('place'), cmp: 'in', values: [place, scene.value('place', 'nl')] },
      ],
    })
    await dropValue(scene.call, place)
    const replace: ResolutionInput = {
      issueCode: 'persona.value_in_use',
      affectedEntityId: double.id,
      chosenActionType: 'persona.replace_value',
      actionPayload: { mapping: [{ from: place, to: [scene.value('place', 'nl')] }] },
    }
    const archive = archiving({ affectedEntityId: double.id })
    expect(await problems(() => submit(archive, replace))).toEqual([
      '0 chosenActionType target_conflict',
      '1 chosenActionType target_conflict',
    ])
    await submit(archive)
    expect(await problems(() => submit(replace))).toEqual(['0 chosenActionType target_conflict'])
  })
})

describe('the draft', () => {
  test('there must be one: the code of the seed', async () => {
    await drafts.discardDraft(scene.call, { reason: 'Not now' })
    await expect(submit(archiving())).rejects.toMatchObject({
      code: 'orgmodel.version.no_draft_to_submit_resolutions',
    })
  })

  test('C37 another draft, or other content, than the one that was looked at', async () => {
    const draft = await draftOf(scene.call)
    const guarded = (own: object) => drafts.submitResolutions(scene.call, { resolutions: [archiving()], ...own })
    await expect(guarded({ expectedContentRevision: draft.contentRevision - 1 })).rejects.toThrow(DraftChangedError)
    await expect(guarded({ expectedDraftVersionId: randomUUID() })).rejects.toThrow(DraftChangedError)
    await drafts.discardDraft(scene.call, { reason: 'Again' })
    await dropAttribute(scene.call, department)
    await expect(guarded({ expectedDraftVersionId: draft.id })).rejects.toThrow(DraftChangedError)
    expect(await guarded({ expectedDraftVersionId: (await draftOf(scene.call)).id })).toHaveLength(1)
  })
})

describe('one record per issue', () => {
  test('C03 three submissions of a general issue: one row, one id, the third submission', async () => {
    const general = controlled({ execute: async () => DONE })
    const ids = new Set<string>()
    for (let round = 1; round <= 3; round++) {
      const [submitted] = await general.submitResolutions(scene.call, {
        resolutions: [{ issueCode: 'test.found', affectedEntityId: null, chosenActionType: 'test.one' }],
      })
      expect(submitted).toMatchObject({ affectedEntityId: null, submissionNo: round })
      ids.add(submitted!.resolutionId)
    }
    expect(ids.size).toBe(1)
    expect(await rows()).toHaveLength(1)
    expect((await jobs()).map(({ state }) => state).toSorted()).toEqual(['CANCELLED', 'CANCELLED', 'WAITING'])
    await holdInvariants(scene.call)
  })

  test('C03 no entity equals no entity: the database refuses a second row for a general issue', async () => {
    const [submitted] = await submit(archiving())
    const client = await db.pool.connect()
    try {
      await client.query('begin')
      const insert = (id: string) =>
        client.query(
          `insert into org_model_draft_resolution (tenant_id, id, draft_version_id, issue_key, issue_code, issue_fingerprint,
             issue_basis, content_revision, chosen_action_type, payload_hash, effect, max_attempts, submitted_by, correlation_id)
           select tenant_id, $2, draft_version_id, 'model.large_change:', 'model.large_change', issue_fingerprint,
             issue_basis, content_revision, chosen_action_type, payload_hash, effect, max_attempts, submitted_by, correlation_id
           from org_model_draft_resolution where id = $1`,
          [submitted!.resolutionId, id],
        )
      await insert(randomUUID())
      await expect(insert(randomUUID())).rejects.toMatchObject({ code: '23505' })
    } finally {
      await client.query('rollback')
      client.release()
    }
  })

  test('C04 C18 forty at once: one row, forty jobs, the row’s job is the last submission’s', async () => {
    const all = await Promise.all(Array.from({ length: 40 }, () => submit(archiving())))
    const submissions = all.map(([one]) => one!)
    expect(new Set(submissions.map(({ resolutionId }) => resolutionId)).size).toBe(1)
    expect(submissions.map(({ submissionNo }) => submissionNo).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 40 }, (_, n) => n + 1),
    )
    expect(await jobs()).toHaveLength(40)
    const resolution = await seen(scene.call, submissions[0]!.resolutionId)
    expect(resolution).toMatchObject({
      submissionNo: 40,
      jobId: submissions.find(({ submissionNo }) => submissionNo === 40)!.jobId,
    })
    await holdInvariants(scene.call)
  })

  test('C17 the record and its job come together or not at all', async () => {
    await db.pool.query(
      `create function refuse_job() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$`,
    )
    await db.pool.query('create trigger refuse before insert on job for each row execute function refuse_job()')
    try {
      await expect(submit(archiving())).rejects.toThrow()
    } finally {
      await db.pool.query('drop trigger refuse on job; drop function refuse_job()')
    }
    expect([await rows(), await jobs()]).toEqual([[], []])
  })

  test('C29 the same key again: same answer, no new job; with another body it is refused', async () => {
    const keyed = (actionPayload: unknown) =>
      drafts.submitResolutions(scene.call, { idempotencyKey: 'k1', resolutions: [archiving({ actionPayload })] })
    const both = await Promise.all([keyed({ reason: 'a' }), keyed({ reason: 'a' })])
    expect(both[0]).toEqual(both[1])
    expect(await keyed({ reason: 'a' })).toEqual(both[0])
    expect(await jobs()).toHaveLength(1)
    await expect(keyed({ reason: 'b' })).rejects.toMatchObject({ code: 'orgmodel.resolution.idempotency_conflict' })
    for (const idempotencyKey of ['', 'k'.repeat(129), 'k'.repeat(300)])
      await expect(
        drafts.submitResolutions(scene.call, { idempotencyKey, resolutions: [archiving()] }),
      ).rejects.toMatchObject({ code: 'VALIDATION_FAILED', path: ['idempotencyKey'] })
  })
})

describe('who may', () => {
  test('a reader may look and not choose', async () => {
    const reader = withRoles(scene.call, 'reader')
    await expect(drafts.submitResolutions(reader, { resolutions: [archiving()] })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    expect((await drafts.evaluateDraft(reader)).issues.length).toBeGreaterThan(0)
  })

  test('C45 another tenant’s ids do not exist', async () => {
    const [submitted] = await submit(archiving())
    const stranger = await openScene(db.database)
    await dropAttribute(stranger.call, stranger.attribute('department'))
    const crossed = drafts.submitResolutions(stranger.call, { resolutions: [archiving()] })
    await expect(crossed).rejects.toMatchObject({ items: [{ code: 'orgmodel.resolution.issue_not_open' }] })
    const their = { resolutionId: submitted!.resolutionId }
    await expect(drafts.cancelResolution(stranger.call, their)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(drafts.retryResolution(stranger.call, their)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(seen(stranger.call, submitted!.resolutionId)).rejects.toThrow(/There is no resolution/)
    // An id of their model as the target of our persona.
    const foreign = archiving({
      chosenActionType: 'persona.update_filter_value',
      actionPayload: { newAttributeId: stranger.attribute('level') },
    })
    expect(await problems(() => submit(foreign))).toEqual(['0 actionPayload/newAttributeId payload_reference_invalid'])
  })

  test('C50 a choice can be taken back and made again', async () => {
    const id = await choose(drafts, scene.call, `persona.attribute_in_use:${persona}`, 'persona.archive')
    expect(await drafts.cancelResolution(scene.call, { resolutionId: id })).toMatchObject({
      status: 'FAILED',
      errorCode: 'orgmodel.resolution.cancelled',
    })
    await expect(drafts.cancelResolution(scene.call, { resolutionId: id })).rejects.toMatchObject({
      code: 'INVALID_TRANSITION',
    })
    expect((await issuesOf(drafts, scene.call)).get(`persona.attribute_in_use:${persona}`)?.state).toBe('OPEN')
    expect(await drafts.retryResolution(scene.call, { resolutionId: id })).toMatchObject({
      id,
      status: 'PENDING',
      submissionNo: 2,
      actionType: 'persona.archive',
      error: null,
    })
    expect((await jobs()).map(({ state }) => state).toSorted()).toEqual(['CANCELLED', 'WAITING'])
    await holdInvariants(scene.call)
  })
})
