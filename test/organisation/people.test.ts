import { beforeAll, describe, expect, test } from 'vitest'
import type { Call } from '../../src/domain/call.ts'
import {
  erasePerson,
  importPeople,
  type ModelSnapshot,
  PeopleInvalidError,
  type PersonInput,
  upsertPerson,
} from '../../src/domain/organisation/index.ts'
import { useDatabase } from '../harness/database.ts'
import { attributeId, newTenant, rowsOf, tenantWithModel, valueId, withRoles } from './tenant.ts'

const db = useDatabase()
let call: Call
let model: ModelSnapshot
beforeAll(async () => {
  ;({ call, model } = await tenantWithModel(db.database))
})

const import_ = (...people: PersonInput[]) => importPeople(call, { people })

const held = async (externalId: string) => {
  const values = await (await rowsOf(call)).personAttributeValue.findMany({
    where: { person: { externalId, tenantId: call.viewer.tenantId } },
    orderBy: { item: 'asc' },
  })
  return Object.fromEntries(
    [...model.attributes.values()].flatMap(({ id, key }) => {
      const own = values.filter((value) => value.attributeId === id)
      const plain = own.map(
        ({ valueId: choice, text, number, date, bool }) =>
          choice ?? text ?? number?.toNumber() ?? date?.toISOString().slice(0, 10) ?? bool,
      )
      return own.length === 0 ? [] : [[key, plain]]
    }),
  )
}

const countPeople = async (of: Call) => (await rowsOf(of)).person.count()
const personById = async (of: Call, id: string) => (await rowsOf(of)).person.findFirst({ where: { id } })

const events = async (of: Call) =>
  (
    await db.pool.query(
      `select sequence, type, data, actor from event where tenant_id = $1 and subject_kind = 'people' order by sequence`,
      [of.viewer.tenantId],
    )
  ).rows

/** The rows as they stand, to see that nothing was written. */
const rows = async () =>
  (
    await db.pool.query('select ctid, xmin, * from person_attribute_value where tenant_id = $1 order by 3, 4, 5, 6', [
      call.viewer.tenantId,
    ])
  ).rows

describe('import', () => {
  test('the clock is taken before the people, so two imports cannot deadlock over their rows', async () => {
    await import_({ externalId: 'in-order', values: {} })
    const holder = await db.pool.connect()
    await holder.query('begin')
    const clock = 'from org_model_downstream_clock where tenant_id = $1 for update'
    await holder.query(`select ${clock}`, [call.viewer.tenantId])
    const importing = import_({ externalId: 'in-order', values: {} })
    await expect
      .poll(async () => {
        const { rows } = await db.pool.query(
          `select query from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
        )
        return rows.length
      })
      .toBe(1)
    // Fails at once when the import that waits holds the person already.
    const person = `select from person where tenant_id = $1 and external_id = 'in-order' for update nowait`
    await holder.query(person, [call.viewer.tenantId])
    await holder.query('commit')
    holder.release()
    expect(await importing).toEqual({ created: 0, updated: 1 })
  })

  test('every data type is held as it was given', async () => {
    const values = {
      department: 'sales',
      skills: ['c', 'a'],
      place: 'zeist',
      level: 0.1,
      since: '2026-11-30',
      remark: 'Ünïcode 😀',
      remote: false,
    }
    expect(await import_({ externalId: 'all', values })).toEqual({ created: 1, updated: 0 })
    expect(await held('all')).toEqual({
      department: [valueId(model, 'department', 'sales')],
      skills: [valueId(model, 'skills', 'c'), valueId(model, 'skills', 'a')],
      place: [valueId(model, 'place', 'zeist')],
      level: [0.1],
      since: ['2026-11-30'],
      remark: ['Ünïcode 😀'],
      remote: [false],
    })
  })

  test('what is not named stays, null takes away, a list replaces the list', async () => {
    await import_({ externalId: 'change', values: { department: 'hr', skills: ['a', 'b'], level: 3, remark: 'x' } })
    expect(
      await import_({ externalId: 'change', values: { skills: ['b', 'a', 'c'], level: null, remark: 'y' } }),
    ).toEqual({
      created: 0,
      updated: 1,
    })
    expect(await held('change')).toEqual({
      department: [valueId(model, 'department', 'hr')],
      skills: ['b', 'a', 'c'].map((key) => valueId(model, 'skills', key)),
      remark: ['y'],
    })
  })

  test('the same import again writes no value', async () => {
    const people = [0, 1, 2].map((n) => ({
      externalId: `again${n}`,
      values: { department: 'hr', skills: ['a', 'b'], level: n },
    }))
    expect(await import_(...people)).toEqual({ created: 3, updated: 0 })
    const before = await rows()
    expect(await import_(...people)).toEqual({ created: 0, updated: 3 })
    expect(await rows()).toEqual(before)
  })

  test('what is wrong is told by person and place, and nobody is written', async () => {
    const before = await countPeople(call)
    const failed = import_(
      { externalId: 'fine', values: { department: 'sales' } },
      { externalId: '', values: {} },
      {
        externalId: 'two',
        values: { nonsense: 1, department: 'gone', level: '3', since: '2026-02-30', remote: 'yes' },
      },
      { externalId: 'three', values: { department: ['sales'], skills: ['a', 'a'], remark: '\ud83d' } },
      { externalId: 'fine', values: {} },
    )
    const error: unknown = await failed.catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(PeopleInvalidError)
    const { items, path } = error as PeopleInvalidError
    expect(items.map(({ index, path: [first, key], code }) => `${index} ${first} ${key ?? ''} ${code}`)).toEqual([
      '1 externalId  people.external_id_invalid',
      '2 values nonsense people.attribute_unknown',
      '2 values department people.value_invalid',
      '2 values level people.value_invalid',
      '2 values since people.value_invalid',
      '2 values remote people.value_invalid',
      '3 values department people.value_invalid',
      '3 values skills people.value_invalid',
      '3 values remark people.value_invalid',
      '4 externalId  people.duplicate_in_batch',
    ])
    expect(path).toEqual(['people', '1', 'externalId'])
    expect(await countPeople(call)).toBe(before)
  })

  test('1 to 1,000 people at a time', async () => {
    await expect(import_()).rejects.toMatchObject({ code: 'VALIDATION_FAILED', path: ['people'] })
    const many = Array.from({ length: 1_001 }, (_, n) => ({ externalId: `m${n}`, values: {} }))
    await expect(import_(...many)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
  })

  test('imports of the same people at once end one after the other, in whichever order they name them', async () => {
    const people = Array.from({ length: 40 }, (_, n) => ({
      externalId: `race${n}`,
      values: { department: 'sales', level: n },
    }))
    const imports = Array.from({ length: 6 }, (_, n) => import_(...(n % 2 === 0 ? people : people.toReversed())))
    const results = await Promise.all(imports)
    expect(results.map(({ created }) => created).toSorted((a, b) => a - b)).toEqual([0, 0, 0, 0, 0, 40])
  })

  test('one event per call, with counts and nothing about anybody', async () => {
    const own = await newTenant(db.database)
    await importPeople(own, { people: ['x', 'y'].map((externalId) => ({ externalId, values: {} })) })
    const person = await upsertPerson(own, { externalId: 'y', values: {} })
    await erasePerson(own, { personId: person.id })
    expect(await events(own)).toEqual([
      { sequence: 1, type: 'people.imported', data: { created: 2, updated: 0 }, actor: 'anna' },
      { sequence: 2, type: 'people.upserted', data: { created: 0, updated: 1 }, actor: 'anna' },
      { sequence: 3, type: 'people.erased', data: { erased: 1 }, actor: 'anna' },
    ])
  })
})

describe('single people', () => {
  test('a person is made, and erased with all it held', async () => {
    const person = await upsertPerson(call, { externalId: ' erase me ', values: { department: 'hr' } })
    expect(person.externalId).toBe('erase me')
    expect(await personById(call, person.id)).toMatchObject(person)
    expect(await erasePerson(call, { personId: person.id.toUpperCase() })).toEqual({ erased: true })
    expect(await personById(call, person.id)).toBeNull()
    expect(await erasePerson(call, { personId: person.id })).toEqual({ erased: false })
    expect(await erasePerson(call, { personId: 'nonsense' })).toEqual({ erased: false })
    const left = await db.pool.query('select from person_attribute_value where person_id = $1', [person.id])
    expect(left.rowCount).toBe(0)
  })
})

describe('permissions and tenants', () => {
  test('writing people needs their permissions', async () => {
    const person = await upsertPerson(call, { externalId: 'someone', values: {} })
    const forbidden = { code: 'FORBIDDEN' }
    const reader = withRoles(call, 'reader')
    await expect(importPeople(reader, { people: [{ externalId: 'x', values: {} }] })).rejects.toMatchObject(forbidden)
    await expect(upsertPerson(reader, { externalId: 'x', values: {} })).rejects.toMatchObject(forbidden)
    await expect(erasePerson(reader, { personId: person.id })).rejects.toMatchObject(forbidden)
  })

  test('C45 another tenant’s people do not exist, and the same external id is another person there', async () => {
    const theirs = await tenantWithModel(db.database)
    const [mine, other] = [
      await upsertPerson(call, { externalId: 'shared', values: { department: 'hr' } }),
      await upsertPerson(theirs.call, { externalId: 'shared', values: { department: 'sales' } }),
    ]
    expect(mine.id).not.toBe(other.id)
    expect(await erasePerson(call, { personId: other.id })).toEqual({ erased: false })
    expect(await personById(theirs.call, other.id)).not.toBeNull()
  })

  test('C45 a person cannot hold another tenant’s value, nor a value of another attribute', async () => {
    const theirs = await tenantWithModel(db.database)
    const { id } = await upsertPerson(call, { externalId: 'holder', values: {} })
    const hold = (attribute: string, value: string) =>
      db.pool.query(
        'insert into person_attribute_value (tenant_id, person_id, attribute_id, value_id) values ($1, $2, $3, $4)',
        [call.viewer.tenantId, id, attribute, value],
      )
    const department = attributeId(model, 'department')
    await expect(hold(department, valueId(theirs.model, 'department', 'hr'))).rejects.toMatchObject({ code: '23503' })
    await expect(hold(department, valueId(model, 'place', 'nl'))).rejects.toMatchObject({ code: '23503' })
    await hold(department, valueId(model, 'department', 'hr'))
  })
})
