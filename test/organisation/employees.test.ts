import { readFileSync } from 'node:fs'
import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import type { Call } from '../../src/domain/call.ts'
import {
  createPersona,
  diffVersions,
  importOrgModel,
  importPeople,
  type ImportedAttribute,
  type ModelSnapshot,
  personaAudience,
} from '../../src/domain/organisation/index.ts'
import { useDatabase } from '../harness/database.ts'
import { activate, attributeId, discard, newTenant, rowsOf, valueId } from './tenant.ts'

const db = useDatabase()

const SELECTS = ['Department', 'JobRole', 'JobLevel', 'EducationField', 'BusinessTravel', 'OverTime'] as const
const NUMBERS = ['DistanceFromHome', 'YearsAtCompany', 'YearsInCurrentRole', 'TotalWorkingYears'] as const
type Employee = Readonly<Record<'EmployeeNumber' | (typeof SELECTS)[number] | (typeof NUMBERS)[number], string>>

const EMPLOYEES = parse<Employee>(readFileSync('examples/data/employees.csv'), { columns: true, skipEmptyLines: true })

const keyOf = (column: string): string => column.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_').toLowerCase()
const distinct = (column: keyof Employee) => [...new Set(EMPLOYEES.map((employee) => employee[column]))]
const MODEL: readonly ImportedAttribute[] = [
  ...SELECTS.map(
    (column): ImportedAttribute => ({
      key: keyOf(column),
      label: column,
      dataType: 'SINGLE_SELECT',
      values: distinct(column).map((key) => ({ key })),
    }),
  ),
  ...NUMBERS.map((column): ImportedAttribute => ({ key: keyOf(column), label: column, dataType: 'NUMBER' })),
]

let call: Call
let model: ModelSnapshot
beforeAll(async () => {
  call = await newTenant(db.database)
  const { version, changes } = await importOrgModel(call, { name: 'From the file', attributes: MODEL })
  expect(changes.map(({ kind }) => kind)).toEqual(Array(MODEL.length).fill('ATTRIBUTE_ADDED'))
  model = await activate(call, version.id)
  const people = EMPLOYEES.map((employee) => ({
    externalId: employee.EmployeeNumber,
    values: Object.fromEntries([
      ...SELECTS.map((column) => [keyOf(column), employee[column]]),
      ...NUMBERS.map((column) => [keyOf(column), Number(employee[column])]),
    ]),
  }))
  expect(people).toHaveLength(1_470)
  expect(await importPeople(call, { people: people.slice(0, 1_000) })).toEqual({ created: 1_000, updated: 0 })
  expect(await importPeople(call, { people: people.slice(1_000) })).toEqual({ created: 470, updated: 0 })
})

/** A filter and what it means, said a second time over the lines of the file. */
interface Wish {
  readonly filter: () => object
  readonly holds: (employee: Employee) => boolean
}

const oneOf = (column: (typeof SELECTS)[number]): fc.Arbitrary<Wish> =>
  fc.subarray(distinct(column), { minLength: 1 }).map((keys) => ({
    filter: () => ({
      op: 'cond',
      field: attributeId(model, keyOf(column)),
      cmp: 'in',
      values: keys.map((key) => valueId(model, keyOf(column), key)),
    }),
    holds: (employee) => keys.includes(employee[column]),
  }))

const between = (column: (typeof NUMBERS)[number]): fc.Arbitrary<Wish> =>
  fc.tuple(fc.nat(40), fc.nat(40)).map(([a, b]) => {
    const [low, high] = [Math.min(a, b), Math.max(a, b)]
    return {
      filter: () => ({ op: 'cond', field: attributeId(model, keyOf(column)), cmp: 'between', literal: [low, high] }),
      holds: (employee) => Number(employee[column]) >= low && Number(employee[column]) <= high,
    }
  })

const wish = fc.letrec<{ wish: Wish }>((tie) => ({
  wish: fc.oneof(
    { depthSize: 'small', maxDepth: 3 },
    fc.oneof(...SELECTS.map(oneOf), ...NUMBERS.map(between)),
    fc
      .tuple(fc.constantFrom('and', 'or'), fc.array(tie('wish'), { minLength: 1, maxLength: 3 }))
      .map(([op, items]) => ({
        filter: () => ({ op, items: items.map((item) => item.filter()) }),
        holds: (employee: Employee) =>
          op === 'and' ? items.every((item) => item.holds(employee)) : items.some((item) => item.holds(employee)),
      })),
    tie('wish').map((item) => ({
      filter: () => ({ op: 'not', item: item.filter() }),
      holds: (employee: Employee) => !item.holds(employee),
    })),
  ),
})).wish

test('the audiences of generated personas equal a direct count over the file', async () => {
  const wishes = fc.sample(wish, { numRuns: 40, seed: 1_470 })
  for (const [index, { filter, holds }] of wishes.entries()) {
    const persona = await createPersona(call, { name: `Generated ${index}`, filter: filter() })
    const expected = EMPLOYEES.filter(holds).map((employee) => employee.EmployeeNumber)
    const audience = await personaAudience(call, { personaId: persona.id, limit: 100 })
    expect(audience.count).toBe(expected.length)
    const listed = audience.rows.map(({ externalId }) => externalId)
    expect(listed.every((externalId) => expected.includes(externalId))).toBe(true)
    expect(listed).toHaveLength(Math.min(100, expected.length))
  }
  expect(new Set(wishes.map(({ holds }) => EMPLOYEES.filter(holds).length)).size).toBeGreaterThan(10)
})

test('importing the same model again changes nothing; what it leaves out is removed, the rest keeps its identity', async () => {
  const again = await importOrgModel(call, { attributes: MODEL })
  expect(again.version).toMatchObject({ source: 'IMPORT', contentRevision: 1 })
  expect(again.changes).toEqual([])
  await discard(call, again.version.id)

  const [department, ...others] = MODEL
  const smaller = { ...department!, label: 'Division', values: department!.values!.slice(1) }
  const imported = await importOrgModel(call, { attributes: [smaller, ...others.slice(0, -1)] })
  expect(imported.changes.map(({ kind, label }) => `${kind} ${label}`).toSorted()).toEqual([
    'ATTRIBUTE_RELABELED Division',
    'ATTRIBUTE_REMOVED TotalWorkingYears',
    'VALUE_REMOVED Sales',
  ])
  expect(await diffVersions(call, model.versionId, imported.version.id)).toEqual(imported.changes)
  await discard(call, imported.version.id)
  expect(await (await rowsOf(call)).person.count()).toBe(1_470)
})

test('a model with problems is refused whole, with every place', async () => {
  const attributes = [
    { key: 'Fine?', label: '', dataType: 'TEXT' as const },
    { key: 'a', label: 'A', dataType: 'NUMBER' as const, values: [{ key: 'x' }] },
    { key: 'b', label: 'B', dataType: 'SINGLE_SELECT' as const, values: [{ key: 'x', parentKey: 'y' }, { key: 'x' }] },
    { key: 'b', label: 'B', dataType: 'HIERARCHY' as const, values: [{ key: 'x', parentKey: 'gone' }] },
  ]
  await expect(importOrgModel(call, { attributes })).rejects.toMatchObject({
    code: 'orgmodel.import.invalid',
    items: [
      { path: ['attributes', '0', 'key'], code: 'orgmodel.key_invalid' },
      { path: ['attributes', '0', 'label'], code: 'orgmodel.label_invalid' },
      { path: ['attributes', '1', 'values'], code: 'orgmodel.value.not_a_choice' },
      { path: ['attributes', '2', 'values', '0', 'parentKey'], code: 'orgmodel.value.not_a_hierarchy' },
      { path: ['attributes', '2', 'values', '1', 'key'], code: 'orgmodel.import.duplicate_key' },
      { path: ['attributes', '3', 'key'], code: 'orgmodel.import.duplicate_key' },
      { path: ['attributes', '3', 'values', '0', 'parentKey'], code: 'orgmodel.import.parent_unknown' },
    ],
  })
  const versions = await db.pool.query(`select from org_model_version where tenant_id = $1 and status = 'DRAFT'`, [
    call.viewer.tenantId,
  ])
  expect(versions.rowCount).toBe(0)
})
