import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { sqlState } from '../../src/database/index.ts'
import type { Call } from '../../src/domain/call.ts'
import {
  activeVersion,
  addAttribute,
  addValue,
  createDraft,
  diffVersions,
  DraftAlreadyExistsError,
  DraftChangedError,
  importOrgModel,
  modelOf,
  NoDraftError,
  removeAttribute,
  removeValue,
  updateAttribute,
  updateValue,
  versionById,
  versionLifecycle,
} from '../../src/domain/organisation/index.ts'
import { allOrderedPairs, lifecycleDiagram } from '../../src/transitions/index.ts'
import { useDatabase } from '../harness/database.ts'
import { expectDatabaseAgrees } from '../transitions/agreement.ts'
import {
  activate,
  attributeId,
  discard,
  MODEL,
  newTenant,
  rowsOf,
  tenantWithModel,
  valueId,
  withRoles,
} from './tenant.ts'

const db = useDatabase()

const operationsOf = async (call: Call, versionId: string) =>
  (await rowsOf(call)).orgModelOperation.findMany({ where: { versionId }, orderBy: { seq: 'asc' } })

describe('the life of a version', () => {
  test('a tenant begins with version 1, active and empty', async () => {
    const call = await newTenant(db.database)
    const active = await activeVersion(call)
    expect(active).toMatchObject({ number: 1, status: 'ACTIVE', version: 1, contentRevision: 0, createdBy: 'anna' })
    expect((await modelOf(call, active.id))?.attributes.size).toBe(0)
    expect(await (await rowsOf(call)).orgModelVersion.count()).toBe(1)
  })

  test('C52 the database allows exactly the pairs of the lifecycle', async () => {
    await expectDatabaseAgrees(db.database, [versionLifecycle])
    expect(allOrderedPairs(versionLifecycle).filter(({ allowed }) => allowed)).toHaveLength(6)
  })

  test.each(allOrderedPairs(versionLifecycle).filter(({ from, allowed }) => from !== null && !allowed))(
    'C52 a version never goes from $from to $to',
    async ({ from, to }) => {
      const { call } = await tenantWithModel(db.database)
      const draft = await createDraft(call, {})
      if (from === 'ACTIVE' || from === 'ARCHIVED') await activate(call, draft.id)
      if (from === 'ARCHIVED') await activate(call, (await createDraft(call, {})).id)
      if (from === 'DISCARDED') await discard(call, draft.id)
      const attempt = db.pool.query(
        `update org_model_version set status = $2, version = version + 1, archived_at = now(), discarded_at = now(),
                activated_at = coalesce(activated_at, now()), content_hash = coalesce(content_hash, repeat('0', 64))
         where id = $1`,
        [draft.id, to],
      )
      // RG003 from the transition's trigger; where the row itself is refused earlier, by a rule of its own.
      await expect(attempt.catch(sqlState)).resolves.toMatch(/^(RG003|RG020|23505|23514)$/)
      expect((await versionById(call, draft.id))?.status).toBe(from)
    },
  )

  test('C36 of two drafts opened at once one exists, and the other answer names it', async () => {
    const call = await newTenant(db.database)
    const answers = await Promise.allSettled(Array.from({ length: 8 }, () => createDraft(call, {})))
    const opened = answers.filter((answer) => answer.status === 'fulfilled')
    expect(opened).toHaveLength(1)
    const draftId = opened[0]?.value.id
    for (const answer of answers) {
      if (answer.status === 'fulfilled') continue
      expect(answer.reason).toBeInstanceOf(DraftAlreadyExistsError)
      expect(answer.reason).toMatchObject({ code: 'orgmodel.version.draft_already_exists', draftId })
    }
    expect(
      (await db.pool.query('select from org_model_version where tenant_id = $1', [call.viewer.tenantId])).rowCount,
    ).toBe(2)
  })

  test('C36 the database itself holds one draft and one active version per tenant', async () => {
    const call = await newTenant(db.database)
    const draft = await createDraft(call, {})
    const insert = (status: string) =>
      db.pool.query(
        `insert into org_model_version (tenant_id, id, number, status, source, created_by, activated_at, content_hash)
         values ($1, $2, 99, $3, 'EDIT', 'x', now(), repeat('0', 64))`,
        [call.viewer.tenantId, randomUUID(), status],
      )
    await expect(insert('DRAFT')).rejects.toMatchObject({ constraint: 'org_model_version_one_draft' })
    await expect(insert('ACTIVE')).rejects.toMatchObject({ constraint: 'org_model_version_one_active' })
    expect((await versionById(call, draft.id))?.status).toBe('DRAFT')
  })

  test('a draft of an archived version goes back to its content, measured against the active one', async () => {
    const { call, model } = await tenantWithModel(db.database)
    const first = await activeVersion(call)
    const draft = await createDraft(call, {})
    await removeAttribute(call, { expectedContentRevision: 0, attributeId: attributeId(model, 'department') })
    await activate(call, draft.id)
    const revert = await createDraft(call, { fromVersionId: first.id.toUpperCase() })
    expect(revert).toMatchObject({ source: 'REVERT', revertsVersionId: first.id, baseVersionId: draft.id })
    expect(await diffVersions(call, first.id, revert.id)).toEqual([])
    expect((await diffVersions(call, draft.id, revert.id)).map(({ kind }) => kind)).toEqual(['ATTRIBUTE_ADDED'])
  })

  test('a draft does not begin with a discarded version, nor with one that does not exist', async () => {
    const call = await newTenant(db.database)
    const draft = await createDraft(call, {})
    await discard(call, draft.id)
    await expect(createDraft(call, { fromVersionId: draft.id })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
    for (const fromVersionId of [randomUUID(), 'nonsense']) {
      await expect(createDraft(call, { fromVersionId })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
  })
})

describe('edits', () => {
  test('each edit is one content revision, one operation, one event', async () => {
    const { call, model } = await tenantWithModel(db.database)
    const draft = await createDraft(call, {})
    const added = await addAttribute(call, {
      expectedContentRevision: 0,
      key: 'team',
      label: 'Team',
      dataType: 'SINGLE_SELECT',
    })
    expect(added.version).toMatchObject({ id: draft.id, contentRevision: 1, version: 2 })
    const value = await addValue(call, {
      expectedContentRevision: 1,
      attributeId: added.attribute.id,
      key: 'R&D',
      label: 'Research & Development',
    })
    await updateValue(call, { expectedContentRevision: 2, valueId: value.value.id, label: 'R and D' })
    await updateAttribute(call, { expectedContentRevision: 3, attributeId: added.attribute.id, required: true })
    await removeValue(call, { expectedContentRevision: 4, valueId: valueId(model, 'department', 'hr') })
    const last = await removeAttribute(call, { expectedContentRevision: 5, attributeId: attributeId(model, 'level') })
    expect(last.version).toMatchObject({ contentRevision: 6, version: 7 })

    const operations = await operationsOf(call, draft.id)
    expect(operations.map(({ seq, op, actor }) => [Number(seq), op, actor])).toEqual([
      [1, 'ADD_ATTRIBUTE', 'anna'],
      [2, 'ADD_VALUE', 'anna'],
      [3, 'UPDATE_VALUE', 'anna'],
      [4, 'UPDATE_ATTRIBUTE', 'anna'],
      [5, 'REMOVE_VALUE', 'anna'],
      [6, 'REMOVE_ATTRIBUTE', 'anna'],
    ])
    expect(operations[2]).toMatchObject({
      before: { label: 'Research & Development' },
      after: { label: 'R and D' },
    })

    const events = await db.pool.query(
      `select sequence, type, data->>'op' as op, (data->>'contentRevision')::int as revision from event
       where subject_id = $1 order by sequence`,
      [draft.id],
    )
    expect(events.rows.map(({ sequence, type }) => [sequence, type])).toEqual([
      [1, 'orgmodel.draft.created'],
      ...[2, 3, 4, 5, 6, 7].map((sequence) => [sequence, 'orgmodel.draft.edited']),
    ])
    expect(events.rows[3]).toMatchObject({ op: 'UPDATE_VALUE', revision: 3 })
  })

  test('something can be added after the very last place', async () => {
    const { call, model } = await tenantWithModel(db.database)
    await createDraft(call, {})
    const [department, hr] = [attributeId(model, 'department'), valueId(model, 'department', 'hr')]
    const last = 2 ** 31 - 1
    await updateAttribute(call, { expectedContentRevision: 0, attributeId: department, sortOrder: last })
    await updateValue(call, { expectedContentRevision: 1, valueId: hr, sortOrder: last })
    const team = { key: 'team', label: 'Team' }
    const { attribute } = await addAttribute(call, { expectedContentRevision: 2, ...team, dataType: 'TEXT' })
    const { value } = await addValue(call, { expectedContentRevision: 3, attributeId: department, ...team })
    expect([attribute.sortOrder, value.sortOrder]).toEqual([last, last])
  })

  test('an edit that changes nothing leaves no trace', async () => {
    const { call, model } = await tenantWithModel(db.database)
    const draft = await createDraft(call, {})
    const id = attributeId(model, 'department')
    const same = await updateAttribute(call, { expectedContentRevision: 0, attributeId: id, label: 'Department' })
    expect(same.version).toMatchObject({ contentRevision: 0, version: 1 })
    expect(await operationsOf(call, draft.id)).toEqual([])
  })

  test('C37 an edit is refused when the draft has changed or is another one', async () => {
    const { call, model } = await tenantWithModel(db.database)
    const id = attributeId(model, 'department')
    await expect(removeAttribute(call, { expectedContentRevision: 0, attributeId: id })).rejects.toThrow(NoDraftError)
    const draft = await createDraft(call, {})
    const answers = await Promise.allSettled(
      ['One', 'Two', 'Three'].map((label) =>
        updateAttribute(call, { expectedContentRevision: 0, attributeId: id, label }),
      ),
    )
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const answer of answers) {
      if (answer.status === 'fulfilled') continue
      expect(answer.reason).toBeInstanceOf(DraftChangedError)
      expect(answer.reason).toMatchObject({ draftId: draft.id, contentRevision: 1, path: ['expectedContentRevision'] })
    }
    await discard(call, draft.id)
    await createDraft(call, {})
    const stale = removeAttribute(call, {
      expectedContentRevision: 0,
      expectedDraftVersionId: draft.id,
      attributeId: id,
    })
    await expect(stale).rejects.toMatchObject({ code: 'orgmodel.version.draft_changed' })
  })

  test('keys are unique, well formed and written in one way', async () => {
    const { call, model } = await tenantWithModel(db.database)
    await createDraft(call, {})
    const at = { expectedContentRevision: 0 }
    const add = (key: string) => addAttribute(call, { ...at, key, label: 'x', dataType: 'TEXT' })
    await expect(add('department')).rejects.toMatchObject({ code: 'orgmodel.attribute.key_taken', path: ['key'] })
    for (const key of ['', 'Team', '1st', 'a b', 'a-b', 'ä', 'x'.repeat(65)]) {
      await expect(add(key)).rejects.toMatchObject({ code: 'orgmodel.key_invalid', path: ['key'] })
    }
    for (const label of ['', ' ', 'x'.repeat(201), 'a\0', '\ud83d']) {
      const add = addAttribute(call, { ...at, key: 'x', label, dataType: 'TEXT' })
      await expect(add).rejects.toMatchObject({ code: 'orgmodel.label_invalid', path: ['label'] })
    }
    const department = attributeId(model, 'department')
    const value = (key: string) => addValue(call, { ...at, attributeId: department, key, label: 'x' })
    await expect(value('sales')).rejects.toMatchObject({ code: 'orgmodel.value.key_taken' })
    await expect(value(' sales')).rejects.toMatchObject({ code: 'orgmodel.key_invalid' })
    // The same é, once as one character and once as two.
    await value('caf\u00e9')
    const again = addValue(call, { expectedContentRevision: 1, attributeId: department, key: 'cafe\u0301', label: 'x' })
    await expect(again).rejects.toMatchObject({ code: 'orgmodel.value.key_taken' })
  })

  test('values belong to choices, parents to hierarchies, defaults to their attribute', async () => {
    const { call, model } = await tenantWithModel(db.database)
    await createDraft(call, {})
    const at = { expectedContentRevision: 0 }
    const sales = valueId(model, 'department', 'sales')
    await expect(
      addValue(call, { ...at, attributeId: attributeId(model, 'level'), key: 'x', label: 'x' }),
    ).rejects.toMatchObject({ code: 'orgmodel.value.not_a_choice' })
    await expect(
      updateValue(call, { ...at, valueId: sales, parentValueId: valueId(model, 'department', 'hr') }),
    ).rejects.toMatchObject({ code: 'orgmodel.value.not_a_hierarchy' })
    await expect(
      updateAttribute(call, { ...at, attributeId: attributeId(model, 'place'), defaultValueId: sales }),
    ).rejects.toMatchObject({ code: 'NOT_FOUND', path: ['defaultValueId'] })
    await expect(
      updateAttribute(call, { ...at, attributeId: attributeId(model, 'department'), dataType: 'TEXT' }),
    ).rejects.toMatchObject({ code: 'orgmodel.attribute.has_values' })
    await updateAttribute(call, { ...at, attributeId: attributeId(model, 'department'), defaultValueId: sales })
    await expect(removeValue(call, { expectedContentRevision: 1, valueId: sales })).rejects.toMatchObject({
      code: 'orgmodel.value.is_default',
    })
  })
})

describe('content that is not a draft’s never changes', () => {
  test.each(['ACTIVE', 'ARCHIVED', 'DISCARDED'] as const)('a version that is %s', async (status) => {
    const { call, model } = await tenantWithModel(db.database)
    if (status === 'ARCHIVED') await activate(call, (await createDraft(call, {})).id)
    const version = status === 'DISCARDED' ? await createDraft(call, {}) : await versionById(call, model.versionId)
    if (status === 'DISCARDED') await discard(call, version!.id)
    const id = version!.id
    const refused = async (sql: string, values: unknown[]) =>
      expect(db.pool.query(sql, values), sql).rejects.toMatchObject({ code: 'RG020' })
    await refused(`update org_model_attribute_state set label = 'x' where version_id = $1`, [id])
    await refused(`update org_model_value_state set label = 'x' where version_id = $1`, [id])
    await refused('delete from org_model_value_state where version_id = $1', [id])
    await refused(
      `insert into org_model_attribute_state (tenant_id, version_id, attribute_id, key, label, data_type, sort_order)
       select tenant_id, version_id, attribute_id, 'other', 'x', 'TEXT', 1 from org_model_attribute_state
       where version_id = $1 limit 1`,
      [id],
    )
    await refused(`update org_model_version set name = 'x' where id = $1`, [id])
    await refused('update org_model_version set content_revision = 7 where id = $1', [id])
    await refused('delete from org_model_version where id = $1', [id])
  })

  test('content cannot be moved from a draft into another version', async () => {
    const { call, model } = await tenantWithModel(db.database)
    const draft = await createDraft(call, {})
    const moved = db.pool.query('update org_model_value_state set version_id = $2 where version_id = $1', [
      draft.id,
      model.versionId,
    ])
    await expect(moved).rejects.toMatchObject({ code: 'RG020' })
  })

  test('a write of content waits for an activation that has not committed, and is then refused', async () => {
    const { call, model } = await tenantWithModel(db.database)
    const draft = await createDraft(call, {})
    const activation = await db.pool.connect()
    const writer = await db.pool.connect()
    try {
      await activation.query('begin')
      await activation.query('select from org_model_version where id = $1 for update', [draft.id])
      const { rows } = await writer.query('select pg_backend_pid() as pid')
      const write = writer
        .query(`update org_model_attribute_state set label = 'x' where version_id = $1 and attribute_id = $2`, [
          draft.id,
          attributeId(model, 'department'),
        ])
        .then(() => 'written', sqlState)
      await expect
        .poll(
          async () =>
            (await db.pool.query('select from pg_locks where pid = $1 and not granted', [rows[0].pid])).rowCount,
        )
        .toBeGreaterThan(0)
      await activation.query('set local session_replication_role = replica')
      await activation.query(`update org_model_version set status = 'DISCARDED', discarded_at = now() where id = $1`, [
        draft.id,
      ])
      await activation.query('commit')
      expect(await write).toBe('RG020')
    } finally {
      activation.release()
      writer.release()
    }
  })

  test('the operation log only grows', async () => {
    const call = await newTenant(db.database)
    await importOrgModel(call, { attributes: MODEL })
    for (const sql of [`update org_model_operation set actor = 'x'`, 'delete from org_model_operation']) {
      await expect(db.pool.query(sql)).rejects.toMatchObject({ code: 'RG021' })
    }
  })
})

describe('permissions and tenants', () => {
  test('reading and editing need their permissions', async () => {
    const call = await newTenant(db.database)
    const reader = withRoles(call, 'reader')
    await expect(createDraft(reader, {})).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(importOrgModel(reader, { attributes: [] })).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(activeVersion(withRoles(call))).rejects.toMatchObject({ code: 'FORBIDDEN' })
    expect((await activeVersion(reader)).number).toBe(1)
  })

  test('C45 another tenant’s versions, attributes and values do not exist', async () => {
    const [mine, theirs] = [await tenantWithModel(db.database), await tenantWithModel(db.database)]
    const { call } = mine
    await createDraft(call, {})
    await createDraft(theirs.call, {})
    expect(await versionById(call, theirs.model.versionId)).toBeNull()
    expect(await modelOf(call, theirs.model.versionId)).toBeNull()
    await expect(diffVersions(call, mine.model.versionId, theirs.model.versionId)).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    const at = { expectedContentRevision: 0 }
    const foreign = attributeId(theirs.model, 'department')
    const notFound = { code: 'NOT_FOUND' }
    await expect(updateAttribute(call, { ...at, attributeId: foreign, label: 'x' })).rejects.toMatchObject(notFound)
    await expect(removeAttribute(call, { ...at, attributeId: foreign })).rejects.toMatchObject(notFound)
    await expect(addValue(call, { ...at, attributeId: foreign, key: 'x', label: 'x' })).rejects.toMatchObject(notFound)
    await expect(
      removeValue(call, { ...at, valueId: valueId(theirs.model, 'department', 'hr') }),
    ).rejects.toMatchObject(notFound)
    await expect(
      addAttribute(call, { ...at, key: 'x', label: 'x', dataType: 'TEXT', replacesAttributeId: foreign }),
    ).rejects.toMatchObject(notFound)
    expect((await modelOf(theirs.call, theirs.model.versionId))?.attributes.size).toBe(MODEL.length)
  })

  test('C45 a row cannot point into another tenant', async () => {
    const [mine, theirs] = [await tenantWithModel(db.database), await tenantWithModel(db.database)]
    const draft = await createDraft(mine.call, {})
    const insert = db.pool.query(
      `insert into org_model_attribute_state (tenant_id, version_id, attribute_id, key, label, data_type, sort_order)
       values ($1, $2, $3, 'stolen', 'x', 'TEXT', 1)`,
      [mine.call.viewer.tenantId, draft.id, attributeId(theirs.model, 'level')],
    )
    await expect(insert).rejects.toMatchObject({ code: '23503' })
  })
})

test('the page about the organisation shows the lifecycle as it is', () => {
  expect(readFileSync('docs/organisation.md', 'utf8')).toContain(lifecycleDiagram(versionLifecycle).trim())
})
