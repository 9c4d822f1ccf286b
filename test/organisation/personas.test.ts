import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import type { Call } from '../../src/domain/call.ts'
import {
  archivePersona,
  createDraft,
  createPersona,
  downstreamClock,
  importPeople,
  lockPersona,
  type ModelSnapshot,
  type Persona,
  personaAudience,
  personaById,
  PersonaFilterInvalidError,
  PersonaInvalidError,
  personKey,
  rebuildReferences,
  personaExtractor,
  removeAttribute,
  removeValue,
  updatePersona,
  versionById,
  writePersona,
} from '../../src/domain/organisation/index.ts'
import { readerOf } from '../../src/domain/organisation/reader.ts'
import { useDatabase } from '../harness/database.ts'
import { activate, attributeId, tenantWithModel, valueId, withRoles } from './tenant.ts'

const db = useDatabase()
let call: Call
let model: ModelSnapshot
beforeAll(async () => {
  ;({ call, model } = await tenantWithModel(db.database))
})

const inDepartment = (...keys: string[]) => ({
  op: 'cond',
  field: attributeId(model, 'department'),
  cmp: 'in',
  values: keys.map((key) => valueId(model, 'department', key)),
})

const events = async (persona: Persona) =>
  (await db.pool.query('select sequence, type, data from event where subject_id = $1 order by sequence', [persona.id]))
    .rows

const references = async (persona: Persona) =>
  (await db.pool.query('select * from org_model_reference where source_id = $1 order by source_path', [persona.id]))
    .rows

const clock = async () => (await downstreamClock(readerOf(call), 'read')).revision

describe('writing', () => {
  test('a persona is made with its references, its event and one tick of the clock', async () => {
    const before = await clock()
    const persona = await createPersona(call, { name: ' Sellers ', filter: { op: 'not', item: inDepartment('hr') } })
    expect(persona).toMatchObject({
      name: 'Sellers',
      kind: 'DYNAMIC',
      revision: 1,
      validity: 'VALID',
      archivedAt: null,
    })
    expect(await personaById(call, persona.id.toUpperCase())).toEqual(persona)
    expect(await references(persona)).toMatchObject([
      {
        source_path: '/filter/item/field',
        attribute_id: attributeId(model, 'department'),
        value_id: null,
        negated: true,
      },
      { source_path: '/filter/item/values/0', value_id: valueId(model, 'department', 'hr'), source_state: 'ACTIVE' },
    ])
    const data = { name: 'Sellers', kind: 'DYNAMIC', validity: 'VALID', revision: 1, archived: false }
    expect(await events(persona)).toEqual([{ sequence: 1, type: 'persona.created', data }])
    expect(await clock()).toBe(before + 1)
  })

  test('an update changes what is given, an archived persona keeps its references as inactive', async () => {
    const persona = await createPersona(call, { name: 'A', description: 'first', filter: inDepartment('hr') })
    const renamed = await updatePersona(call, { personaId: persona.id, expectedRevision: 1, name: 'B' })
    expect(renamed).toMatchObject({ name: 'B', description: 'first', revision: 2, filter: persona.filter })
    expect(await references(persona)).toMatchObject([{ source_label: 'B' }, { source_label: 'B' }])
    const filter = inDepartment('sales', 'research')
    await updatePersona(call, { personaId: persona.id, expectedRevision: 2, filter, description: null })
    expect(await references(persona)).toHaveLength(3)
    const archived = await archivePersona(call, { personaId: persona.id, expectedRevision: 3 })
    expect(archived).toMatchObject({ revision: 4, description: null, archivedAt: expect.any(Date) })
    expect((await references(persona)).map(({ source_state }) => source_state)).toEqual(Array(3).fill('INACTIVE'))
    expect(await archivePersona(call, { personaId: persona.id })).toEqual(archived)
    await expect(updatePersona(call, { personaId: persona.id, expectedRevision: 4, name: 'C' })).rejects.toMatchObject({
      code: 'persona.archived',
    })
    expect((await events(persona)).map(({ sequence, type }) => [sequence, type])).toEqual([
      [1, 'persona.created'],
      [2, 'persona.updated'],
      [3, 'persona.updated'],
      [4, 'persona.archived'],
    ])
  })

  test('of updates made at once one is taken, the others learn the revision', async () => {
    const persona = await createPersona(call, { name: 'Contested', filter: inDepartment('hr') })
    const answers = await Promise.allSettled(
      Array.from({ length: 6 }, (_, n) =>
        updatePersona(call, { personaId: persona.id, expectedRevision: 1, name: `Contested ${n}` }),
      ),
    )
    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const answer of answers) {
      if (answer.status === 'rejected') expect(answer.reason).toMatchObject({ code: 'CONFLICT', currentVersion: 2 })
    }
  })

  test('a filter that the active model cannot evaluate is refused, with the pointer', async () => {
    const gone = randomUUID()
    const broken = { op: 'and', items: [inDepartment('hr'), { ...inDepartment('sales'), values: [gone] }] }
    const error: unknown = await createPersona(call, { name: 'x', filter: broken }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(PersonaFilterInvalidError)
    expect(error).toMatchObject({
      code: 'persona.filter_invalid',
      path: ['filter', 'items', '1', 'values', '0'],
      problems: [{ path: '/items/1/values/0', code: 'unknown_value' }],
    })
    await expect(createPersona(call, { name: 'x', filter: { op: 'and' } })).rejects.toThrow(PersonaFilterInvalidError)
    await expect(createPersona(call, { name: ' ', filter: inDepartment('hr') })).rejects.toMatchObject({
      path: ['name'],
    })
  })

  test('C08 ids are kept in one way of writing', async () => {
    const filter = inDepartment('hr')
    const shouted = {
      ...filter,
      field: filter.field.toUpperCase(),
      values: filter.values.map((id) => id.toUpperCase()),
    }
    const persona = await createPersona(call, { name: 'Shouted', filter: shouted })
    expect(persona.filter).toEqual(filter)
    expect((await references(persona)).map(({ value_id }) => value_id)).toEqual([null, ...filter.values])
  })

  test('an update that changes nothing leaves no trace', async () => {
    const persona = await createPersona(call, { name: 'Same', filter: inDepartment('hr') })
    const before = await clock()
    const same = { personaId: persona.id, expectedRevision: 1, name: 'Same ', filter: inDepartment('hr') }
    expect(await updatePersona(call, same)).toEqual(persona)
    expect(await clock()).toBe(before)
    expect(await events(persona)).toHaveLength(1)
  })

  test('a persona whose row is held is busy, and nothing is written', async () => {
    const persona = await createPersona(call, { name: 'Held', filter: inDepartment('hr') })
    const holder = await db.pool.connect()
    try {
      await holder.query('begin')
      await holder.query('select from persona where id = $1 for update', [persona.id])
      const update = updatePersona(call, { personaId: persona.id, expectedRevision: 1, name: 'Other' })
      await expect(update).rejects.toMatchObject({ code: 'orgmodel.version.busy' })
    } finally {
      await holder.query('rollback')
      holder.release()
    }
    expect(await personaById(call, persona.id)).toEqual(persona)
  })

  test('C51 times are the database’s, whatever the clock of the process says', async () => {
    const databaseNow = async () => (await db.pool.query('select clock_timestamp() as now')).rows[0].now as Date
    vi.useFakeTimers({ toFake: ['Date'], now: new Date('2001-01-01') })
    try {
      const before = await databaseNow()
      const { id } = await createPersona(call, { name: 'Timed', filter: inDepartment('hr') })
      const archived = await archivePersona(call, { personaId: id })
      const after = await databaseNow()
      for (const time of [archived.createdAt, archived.updatedAt, archived.archivedAt as Date]) {
        // Stored to the millisecond, rounded.
        expect(time.getTime()).toBeGreaterThanOrEqual(before.getTime() - 1)
        expect(time.getTime()).toBeLessThanOrEqual(after.getTime() + 1)
      }
    } finally {
      vi.useRealTimers()
    }
  })

  test('a write under a model that is being replaced waits and is judged by the new one', async () => {
    const own = await tenantWithModel(db.database)
    const [department, hr] = [attributeId(own.model, 'department'), valueId(own.model, 'department', 'hr')]
    const draft = await createDraft(own.call, {})
    await removeValue(own.call, { expectedContentRevision: 0, valueId: hr })
    const barrier = await db.pool.connect()
    let created: Promise<Persona>
    try {
      await barrier.query('begin')
      await barrier.query('select from org_model_version where tenant_id = $1 for update', [own.call.viewer.tenantId])
      const activation = activate(own.call, draft.id)
      const waiting = (count: number) =>
        expect
          .poll(
            async () =>
              (
                await db.pool.query(
                  `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
                )
              ).rowCount,
          )
          .toBe(count)
      await waiting(1)
      created = createPersona(own.call, {
        name: 'Late',
        filter: { op: 'cond', field: department, cmp: 'in', values: [hr] },
      })
      void created.catch(() => {})
      await waiting(2)
      await barrier.query('commit')
      await activation
    } finally {
      barrier.release()
    }
    await expect(created).rejects.toThrow(PersonaFilterInvalidError)
  })
})

describe('an invalid filter', () => {
  test('has no audience: not nobody, not everybody, under not either', async () => {
    const own = await tenantWithModel(db.database)
    await importPeople(own.call, { people: [{ externalId: 'one', values: { department: 'hr' } }] })
    const field = attributeId(own.model, 'department')
    const filter = {
      op: 'not',
      item: { op: 'cond', field, cmp: 'in', values: [valueId(own.model, 'department', 'hr')] },
    }
    const persona = await createPersona(own.call, { name: 'Not HR', filter })
    const draft = await createDraft(own.call, {})
    await removeAttribute(own.call, { expectedContentRevision: 0, attributeId: field })
    const audience = (versionId?: string) =>
      personaAudience(own.call, { personaId: persona.id, limit: 10, ...(versionId === undefined ? {} : { versionId }) })
    expect((await audience()).count).toBe(0)
    await expect(audience(draft.id)).rejects.toMatchObject({
      code: 'persona.invalid',
      personaId: persona.id,
      problems: [{ path: '/item/field', code: 'unknown_field' }],
    })
    await activate(own.call, draft.id)
    await expect(audience()).rejects.toThrow(PersonaInvalidError)

    const rejudged = await own.call.database.transaction(own.call.viewer.tenantId, async (tx) =>
      writePersona(tx, {
        persona: (await lockPersona(tx, persona.id)) as Persona,
        changes: {},
        model: { versionId: draft.id, attributes: new Map(), values: new Map() },
        type: 'persona.invalidated',
        act: { actor: 'system', correlationId: 'x' },
      }),
    )
    expect(rejudged).toMatchObject({ validity: 'INVALID', revision: 2, invalidReason: expect.stringContaining(field) })
  })
})

describe('the audience', () => {
  test('is counted whole and listed page by page', async () => {
    const own = await tenantWithModel(db.database)
    const people = Array.from({ length: 7 }, (_, n) => ({ externalId: `${n}`, values: { level: n } }))
    await importPeople(own.call, { people })
    const filter = { op: 'cond', field: attributeId(own.model, 'level'), cmp: 'gt', literal: 1 }
    const { id: personaId } = await createPersona(own.call, { name: 'x', filter })
    const all = (await personaAudience(own.call, { personaId, limit: 100 })).rows
    expect(all.map(({ externalId }) => externalId).toSorted()).toEqual(['2', '3', '4', '5', '6'])
    const first = await personaAudience(own.call, { personaId, limit: 2 })
    expect(first).toEqual({ count: 5, rows: all.slice(0, 2), hasMore: true })
    const rest = await personaAudience(own.call, { personaId, limit: 5, after: personKey(first.rows[1]!) })
    expect(rest).toEqual({ count: 5, rows: all.slice(2), hasMore: false })
    const back = await personaAudience(own.call, { personaId, limit: 1, before: personKey(all[2]!) })
    expect(back).toEqual({ count: 5, rows: all.slice(1, 2), hasMore: true })
    const past = await personaAudience(own.call, { personaId, limit: 5, after: personKey(all[4]!) })
    expect(past).toEqual({ count: 5, rows: [], hasMore: false })
  })

  test('a static persona has its members, whatever its filter says', async () => {
    const own = await tenantWithModel(db.database)
    await importPeople(own.call, { people: ['in', 'out'].map((externalId) => ({ externalId, values: {} })) })
    const filter = { op: 'cond', field: attributeId(own.model, 'level'), cmp: 'isSet' }
    const persona = await createPersona(own.call, { name: 'x', filter })
    await db.pool.query(`update persona set kind = 'STATIC' where id = $1`, [persona.id])
    await db.pool.query(
      `insert into persona_member select tenant_id, $2, id from person where tenant_id = $1 and external_id = 'in'`,
      [own.call.viewer.tenantId, persona.id],
    )
    const audience = await personaAudience(own.call, { personaId: persona.id, limit: 10 })
    expect(audience).toMatchObject({ count: 1, rows: [{ externalId: 'in' }] })
  })
})

describe('the reference index', () => {
  test('computed again it is the same; what was lost, left over or changed is told and repaired', async () => {
    const own = await tenantWithModel(db.database)
    const field = attributeId(own.model, 'level')
    const filter = { op: 'cond', field, cmp: 'isSet' }
    const [lost, changed] = [
      await createPersona(own.call, { name: 'lost', filter }),
      await createPersona(own.call, { name: 'changed', filter }),
    ]
    const rebuild = () =>
      own.call.database.transaction(own.call.viewer.tenantId, (tx) => rebuildReferences(tx, [personaExtractor]))
    expect(await rebuild()).toEqual([])
    const orphan = randomUUID()
    await db.pool.query('delete from org_model_reference where source_id = $1', [lost.id])
    await db.pool.query('update org_model_reference set negated = true where source_id = $1', [changed.id])
    await db.pool.query(
      `insert into org_model_reference (tenant_id, source_kind, source_id, source_path, source_label, source_state, role, by, attribute_id)
       values ($1, 'PERSONA', $2, '/filter/field', 'gone', 'ACTIVE', 'CONDITION', 'ID', $3)`,
      [own.call.viewer.tenantId, orphan, field],
    )
    const drifts = await rebuild()
    const told = drifts.map(({ sourceId, missing, orphaned }) => [sourceId, missing.length, orphaned.length])
    expect(told).toEqual([
      [lost.id, 1, 0],
      [changed.id, 1, 1],
      [orphan, 0, 1],
    ])
    expect(await rebuild()).toEqual([])
  })
})

describe('permissions and tenants', () => {
  test('reading, writing and seeing people need their permissions', async () => {
    const persona = await createPersona(call, { name: 'x', filter: inDepartment('hr') })
    const forbidden = { code: 'FORBIDDEN' }
    const reader = withRoles(call, 'reader')
    expect(await personaById(reader, persona.id)).toEqual(persona)
    await expect(createPersona(reader, { name: 'x', filter: inDepartment('hr') })).rejects.toMatchObject(forbidden)
    await expect(updatePersona(reader, { personaId: persona.id, expectedRevision: 1 })).rejects.toMatchObject(forbidden)
    await expect(archivePersona(reader, { personaId: persona.id })).rejects.toMatchObject(forbidden)
    const nobody = withRoles(call)
    await expect(personaById(nobody, persona.id)).rejects.toMatchObject(forbidden)
    await expect(personaAudience(nobody, { personaId: persona.id, limit: 1 })).rejects.toMatchObject(forbidden)
  })

  test('C45 another tenant’s personas, versions and model do not exist', async () => {
    const theirs = await tenantWithModel(db.database)
    const notFound = { code: 'NOT_FOUND' }
    const filter = { op: 'cond', field: attributeId(theirs.model, 'level'), cmp: 'isSet' }
    const foreign = await createPersona(theirs.call, { name: 'theirs', filter })
    expect(await personaById(call, foreign.id)).toBeNull()
    await expect(updatePersona(call, { personaId: foreign.id, expectedRevision: 1, name: 'x' })).rejects.toMatchObject(
      notFound,
    )
    await expect(archivePersona(call, { personaId: foreign.id })).rejects.toMatchObject(notFound)
    await expect(personaAudience(call, { personaId: foreign.id, limit: 1 })).rejects.toMatchObject(notFound)
    const mine = await createPersona(call, { name: 'mine', filter: inDepartment('hr') })
    await expect(
      personaAudience(call, { personaId: mine.id, limit: 1, versionId: theirs.model.versionId }),
    ).rejects.toMatchObject(notFound)
    await expect(createPersona(call, { name: 'x', filter })).rejects.toThrow(PersonaFilterInvalidError)
    expect(await versionById(call, theirs.model.versionId)).toBeNull()
  })
})
