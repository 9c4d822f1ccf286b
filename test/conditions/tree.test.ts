import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  ConditionsInvalidError,
  type ConditionTree,
  type Field,
  type Fields,
  type FieldType,
  LIMITS,
  mapConditions,
  parseConditions,
  predicateOf,
  problemsOf,
  referencesOf,
} from '../../src/domain/conditions/index.ts'

const cond = (field: string, cmp: string, more: object = {}) => ({ op: 'cond', field, cmp, ...more })
const department = cond('department', 'in', { values: ['sales'] }) as ConditionTree

const problems = (json: unknown) => {
  try {
    parseConditions(json)
    return []
  } catch (error) {
    expect(error).toBeInstanceOf(ConditionsInvalidError)
    return (error as ConditionsInvalidError).problems
  }
}

describe('reading a tree', () => {
  test('every shape that is allowed is read as it is', () => {
    const tree = {
      op: 'and',
      items: [
        department,
        { op: 'not', item: { op: 'or', items: [cond('level', 'between', { literal: [1, 5] }), cond('x', 'isSet')] } },
        cond('level', 'eq', { literal: 3 }),
        cond('since', 'gt', { literal: '2026-11-30' }),
        cond('remark', 'contains', { literal: 'x' }),
        cond('place', 'descendantOf', { values: ['nl', 'be'] }),
        cond('remote', 'eq', { literal: false }),
        cond('department', 'notIn', { values: ['hr'] }),
        cond('remark', 'isNotSet'),
      ],
    }
    expect(parseConditions(tree)).toEqual(tree)
  })

  test.each([
    ['nothing', null, ''],
    ['a text', 'everybody', ''],
    ['an empty object', {}, '/op'],
    ['an unknown operation', { op: 'xor', items: [department] }, '/op'],
    ['an empty group', { op: 'and', items: [] }, '/items'],
    ['a group without items', { op: 'or' }, '/items'],
    ['an unknown key', { op: 'not', item: department, items: [] }, ''],
    ['an unknown key of a condition', { ...department, attributeId: 'x' }, ''],
    ['an unknown comparison', cond('x', 'like', { literal: 'a' }), '/cmp'],
    ['no values', { op: 'and', items: [department, cond('x', 'in')] }, '/items/1/values'],
    ['an empty list of values', { op: 'not', item: cond('x', 'notIn', { values: [] }) }, '/item/values'],
    ['a value twice', cond('x', 'in', { values: ['a', 'a'] }), '/values'],
    ['a value that is no text', cond('x', 'in', { values: ['a', 3] }), '/values/1'],
    ['values with isSet', cond('x', 'isSet', { values: ['a'] }), ''],
    ['a literal with in', cond('x', 'in', { values: ['a'], literal: 1 }), ''],
    ['a literal that is no scalar', cond('x', 'eq', { literal: { a: 1 } }), '/literal'],
    ['bounds the wrong way round', cond('x', 'between', { literal: [5, 1] }), '/literal'],
    ['bounds of two kinds', cond('x', 'between', { literal: [1, '2'] }), '/literal'],
    ['one bound', cond('x', 'between', { literal: [1] }), '/literal'],
    ['an empty field', cond('', 'isSet'), '/field'],
    ['a NUL', cond('x', 'contains', { literal: 'a\0' }), '/literal'],
    ['half a character', cond('x', 'contains', { literal: '\ud83d' }), '/literal'],
    ['NaN', cond('x', 'gt', { literal: Number.NaN }), '/literal'],
  ])('%s is refused, with the place', (_, json, path) => {
    expect(problems(json).map((problem) => problem.path)).toContain(path)
    expect(problems(json).every(({ code, message }) => code === 'shape' && message.endsWith('.'))).toBe(true)
  })

  test('a tree that is too deep, too large or names too many values is refused before it is walked', () => {
    let deep: object = department
    for (let level = 0; level < 50_000; level++) deep = { op: 'not', item: deep }
    expect(problems(deep)).toMatchObject([{ code: 'too_large' }])
    const wide = { op: 'or', items: Array.from({ length: LIMITS.nodes + 1 }, () => department) }
    expect(problems(wide)).toMatchObject([{ code: 'too_large', path: '' }])
    const many = cond('x', 'in', { values: Array.from({ length: LIMITS.valuesPerCondition + 1 }, (_, i) => `${i}`) })
    expect(problems(many)).toMatchObject([{ code: 'shape', path: '/values' }])
    let justRight: object = department
    for (let level = 1; level < LIMITS.depth; level++) justRight = { op: 'not', item: justRight }
    expect(problems(justRight)).toEqual([])
  })

  test('whatever is read is read again to the same, and whatever comes is read or refused, never crashed on', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (json) => {
        try {
          expect(parseConditions(parseConditions(json))).toEqual(json)
        } catch (error) {
          expect(error).toBeInstanceOf(ConditionsInvalidError)
        }
      }),
    )
  })
})

const CHOICES = ['nl', 'utrecht', 'be']
const field = (type: FieldType): Field => ({
  type,
  hasValue: (value) => CHOICES.includes(value),
  withDescendants: (values) => (values.includes('nl') ? [...new Set([...values, 'utrecht'])] : values),
})
const TYPES: Readonly<Record<string, FieldType>> = {
  place: 'CHOICE',
  level: 'NUMBER',
  remark: 'TEXT',
  remote: 'BOOLEAN',
  since: 'DATE',
}
const FIELDS: Fields = { field: (id) => (TYPES[id] === undefined ? undefined : field(TYPES[id])) }

describe('evaluating a tree', () => {
  const holds = (tree: object, held: Readonly<Record<string, readonly (string | number | boolean)[]>>) =>
    predicateOf(parseConditions(tree), FIELDS)((id) => held[id] ?? [])

  test.each([
    [cond('place', 'in', { values: ['nl'] }), { place: ['nl'] }, true],
    [cond('place', 'in', { values: ['nl'] }), { place: ['be', 'nl'] }, true],
    [cond('place', 'in', { values: ['nl'] }), {}, false],
    [cond('place', 'notIn', { values: ['nl'] }), {}, true],
    [cond('place', 'notIn', { values: ['nl'] }), { place: ['be', 'nl'] }, false],
    [cond('place', 'descendantOf', { values: ['nl'] }), { place: ['utrecht'] }, true],
    [cond('place', 'descendantOf', { values: ['utrecht'] }), { place: ['nl'] }, false],
    [cond('level', 'isSet'), { level: [0] }, true],
    [cond('level', 'isSet'), {}, false],
    [cond('level', 'isNotSet'), {}, true],
    [cond('level', 'between', { literal: [1, 5] }), { level: [5] }, true],
    [cond('level', 'between', { literal: [1, 5] }), { level: [5.5] }, false],
    [cond('level', 'lt', { literal: 5 }), {}, false],
    [{ op: 'not', item: cond('level', 'lt', { literal: 5 }) }, {}, true],
    [cond('since', 'gt', { literal: '2026-11-30' }), { since: ['2026-12-01'] }, true],
    [cond('remark', 'contains', { literal: 'B' }), { remark: ['abc'] }, false],
    [cond('remote', 'eq', { literal: false }), { remote: [false] }, true],
    [cond('remote', 'eq', { literal: false }), {}, false],
  ])('%j of %j is %s', (tree, held, expected) => {
    expect(holds(tree, held)).toBe(expected)
  })

  test.each([
    [cond('gone', 'isNotSet'), 'unknown_field', '/field'],
    [cond('place', 'notIn', { values: ['nl', 'gone'] }), 'unknown_value', '/values/1'],
    [cond('place', 'eq', { literal: 'nl' }), 'comparison_not_applicable', '/cmp'],
    [cond('level', 'contains', { literal: '1' }), 'comparison_not_applicable', '/cmp'],
    [cond('level', 'eq', { literal: '1' }), 'literal_not_applicable', '/literal'],
    [cond('since', 'eq', { literal: '2026-02-30' }), 'literal_not_applicable', '/literal'],
    [cond('since', 'lt', { literal: 'yesterday' }), 'literal_not_applicable', '/literal'],
    [cond('remote', 'eq', { literal: 1 }), 'literal_not_applicable', '/literal'],
  ])('%j makes the whole tree invalid, wherever it stands', (leaf, code, path) => {
    const good = cond('level', 'isSet')
    const settings: [object, string][] = [
      [leaf, ''],
      [{ op: 'not', item: leaf }, '/item'],
      [{ op: 'or', items: [good, leaf] }, '/items/1'],
      [{ op: 'and', items: [good, { op: 'not', item: { op: 'or', items: [leaf] } }] }, '/items/1/item/items/0'],
    ]
    for (const [tree, prefix] of settings) {
      const parsed = parseConditions(tree)
      expect(problemsOf(parsed, FIELDS)).toMatchObject([{ code, path: `${prefix}${path}` }])
      expect(() => predicateOf(parsed, FIELDS)).toThrow(ConditionsInvalidError)
    }
  })
})

describe('references', () => {
  const inSales = cond('department', 'in', { values: ['sales', 'hr'] })
  const tree = parseConditions({
    op: 'and',
    items: [
      inSales,
      { op: 'not', item: { op: 'or', items: [cond('place', 'notIn', { values: ['nl'] }), cond('level', 'isSet')] } },
    ],
  })

  test('every operand has its pointer, and exclusion is told through not and notIn', () => {
    expect(referencesOf(tree).map(({ path, field: id, value, negated }) => [path, id, value, negated])).toEqual([
      ['/items/0/field', 'department', null, false],
      ['/items/0/values/0', 'department', 'sales', false],
      ['/items/0/values/1', 'department', 'hr', false],
      ['/items/1/item/items/0/field', 'place', null, false],
      ['/items/1/item/items/0/values/0', 'place', 'nl', false],
      ['/items/1/item/items/1/field', 'level', null, true],
    ])
  })

  test('conditions can be replaced and taken away; groups that lose everything go with them', () => {
    const without = (...fields: string[]) =>
      mapConditions(tree, (condition) => (fields.includes(condition.field) ? null : condition))
    expect(without()).toEqual(tree)
    expect(without('place', 'level')).toEqual({ op: 'and', items: [inSales] })
    expect(without('department', 'place', 'level')).toBeNull()
    const renamed = mapConditions(tree, (condition) => ({ ...condition, field: `new ${condition.field}` }))
    expect(referencesOf(renamed as ConditionTree).map(({ field: id }) => id)).not.toContain('department')
  })
})
