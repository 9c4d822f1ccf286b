import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import {
  type Condition,
  type ConditionTree,
  type Held,
  Parameters,
  parseConditions,
  predicateOf,
  selectionSql,
} from '../../src/domain/conditions/index.ts'
import type { Call } from '../../src/domain/call.ts'
import { fieldsOf, importPeople, type ModelSnapshot } from '../../src/domain/organisation/index.ts'
import { STORED } from '../../src/domain/organisation/people/stored.ts'
import { useDatabase } from '../harness/database.ts'
import { attributeId, tenantWithModel, valueId } from '../organisation/tenant.ts'

const db = useDatabase()
let call: Call
let model: ModelSnapshot
/** What each person was given, by external id, in the words of a condition. */
let people: ReadonlyMap<string, Readonly<Record<string, readonly Held[]>>>

beforeAll(async () => {
  ;({ call, model } = await tenantWithModel(db.database))
  const some = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { freq: 3 })
  const person = fc.record({
    department: some(fc.constantFrom('sales', 'research', 'hr')),
    skills: some(fc.subarray(['a', 'b', 'c'], { minLength: 1 })),
    place: some(fc.constantFrom('nl', 'utrecht', 'zeist', 'be')),
    level: some(LEVEL),
    since: some(DAY),
    remark: some(TEXT),
    remote: some(fc.boolean()),
  })
  const sample = fc.sample(person, { numRuns: 200, seed: 20_261_130 })
  await importPeople(call, { people: sample.map((values, index) => ({ externalId: `p${index}`, values })) })
  people = new Map(sample.map((values, index) => [`p${index}`, heldOf(values)]))
})

const heldOf = (values: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(values).map(([key, given]): [string, Held[]] => {
      const all = (given === null ? [] : [given].flat()) as Held[]
      const isChoice = ['department', 'skills', 'place'].includes(key)
      return [attributeId(model, key), isChoice ? all.map((item) => valueId(model, key, item as string)) : all]
    }),
  )

const bySql = async (filter: ConditionTree): Promise<string[]> => {
  const parameters = new Parameters(2)
  const ids = selectionSql(parseConditions(filter), fieldsOf(model), STORED, parameters)
  const { rows } = await db.pool.query(
    `select p.external_id from (${ids}) selected join person p on p.tenant_id = $1 and p.id = selected.id`,
    [call.viewer.tenantId, ...parameters.values],
  )
  return rows.map((row) => row.external_id as string).toSorted()
}

const inTypeScript = (filter: ConditionTree): string[] => {
  const selected = predicateOf(parseConditions(filter), fieldsOf(model))
  return [...people].flatMap(([id, held]) => (selected((field) => held[field] ?? []) ? [id] : [])).toSorted()
}

// Few distinct things, so that conditions meet them; awkward ones among them.
const LEVEL = fc.constantFrom(-1, 0, 0.1, 0.30000000000000004, 1, 2, 3, 1e21, 5e-7, 9_007_199_254_740_991)
const DAY = fc.constantFrom('0001-01-01', '1999-12-31', '2024-02-29', '2026-11-30', '9999-12-31')
const TEXT = fc.constantFrom(
  'a',
  'A',
  'ab',
  'a b',
  'é',
  'e\u0301',
  '%',
  '_',
  "'; drop table person; --",
  '\\',
  '"',
  '😀',
)

const leaf = (): fc.Arbitrary<Condition> => {
  const id = (key: string) => attributeId(model, key)
  const cond = <T extends object>(key: string, more: fc.Arbitrary<T>) =>
    more.map((rest) => ({ op: 'cond', field: id(key), ...rest }) as unknown as Condition)
  const choice = (key: string) => {
    const ids = [...model.values.values()].filter((value) => value.attributeId === id(key)).map((value) => value.id)
    return cond(
      key,
      fc.record({ cmp: fc.constantFrom('in', 'notIn', 'descendantOf'), values: fc.subarray(ids, { minLength: 1 }) }),
    )
  }
  const ordered = <T extends string | number>(key: string, value: fc.Arbitrary<T>) => [
    cond(key, fc.record({ cmp: fc.constantFrom('eq', 'lt', 'gt'), literal: value })),
    cond(
      key,
      fc.tuple(value, value).map(([a, b]) => ({ cmp: 'between', literal: a <= b ? [a, b] : [b, a] })),
    ),
  ]
  return fc.oneof(
    choice('department'),
    choice('skills'),
    choice('place'),
    ...ordered('level', LEVEL),
    ...ordered('since', DAY),
    cond('remark', fc.record({ cmp: fc.constantFrom('eq', 'contains'), literal: TEXT })),
    cond('remote', fc.record({ cmp: fc.constant('eq'), literal: fc.boolean() })),
    ...[...model.attributes.values()].map(({ key }) =>
      cond(key, fc.record({ cmp: fc.constantFrom('isSet', 'isNotSet') })),
    ),
  )
}

const tree = (): fc.Arbitrary<ConditionTree> =>
  fc.letrec<{ tree: ConditionTree }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small', maxDepth: 5 },
      leaf(),
      fc.record({ op: fc.constantFrom('and', 'or'), items: fc.array(tie('tree'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ op: fc.constant('not'), item: tie('tree') }) as fc.Arbitrary<ConditionTree>,
    ),
  })).tree

test('SQL and TypeScript select the same people, whatever they lack and however it is negated', async () => {
  await fc.assert(
    fc.asyncProperty(tree(), async (filter) => {
      expect(await bySql(filter)).toEqual(inTypeScript(filter))
    }),
    { numRuns: 400 },
  )
})

test('a tree and its negation part the people in two', async () => {
  await fc.assert(
    fc.asyncProperty(tree(), async (filter) => {
      const both = [...(await bySql(filter)), ...(await bySql({ op: 'not', item: filter }))]
      expect(both.toSorted()).toEqual([...people.keys()].toSorted())
    }),
    { numRuns: 100 },
  )
})
