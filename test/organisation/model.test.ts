import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { problemsOf } from '../../src/domain/conditions/index.ts'
import {
  contentHashOf,
  fieldsOf,
  type ModelAttribute,
  type ModelSnapshot,
  type ModelValue,
  netChanges,
  type NetChangeKind,
} from '../../src/domain/organisation/index.ts'
import { snapshotOf } from '../../src/domain/organisation/model/model.ts'

const value = (id: string, more: Partial<ModelValue> = {}): ModelValue => ({
  id,
  attributeId: 'department',
  key: id,
  label: id,
  parentValueId: null,
  deprecatedAt: null,
  sortOrder: 0,
  ...more,
})

const attribute = (id: string, more: Partial<ModelAttribute> = {}): ModelAttribute => ({
  id,
  key: id,
  label: id,
  description: null,
  dataType: 'TEXT',
  required: false,
  defaultValueId: null,
  replacesAttributeId: null,
  source: 'MANUAL',
  sensitive: false,
  deprecatedAt: null,
  sortOrder: 0,
  values: [],
  ...more,
})

const DEPARTMENT = attribute('department', {
  dataType: 'SINGLE_SELECT',
  values: [value('sales'), value('research'), value('hr')],
})
const LEVEL = attribute('level', { dataType: 'NUMBER' })
const BASE = snapshotOf('v1', [DEPARTMENT, LEVEL])

const draft = (department: Partial<ModelAttribute>, ...others: ModelAttribute[]): ModelSnapshot =>
  snapshotOf('v2', [{ ...DEPARTMENT, ...department }, ...others, LEVEL])

const kindsOf = (to: ModelSnapshot): NetChangeKind[] => netChanges(BASE, to).map(({ kind }) => kind)

const withValues = (...values: ModelValue[]): ModelSnapshot => draft({ values })
const [sales, research, hr] = DEPARTMENT.values as [ModelValue, ModelValue, ModelValue]

/** Every kind of change with the draft that makes it and nothing else; what a filter over it then says. */
const MATRIX: readonly {
  kind: NetChangeKind
  to: ModelSnapshot
  breaks: 'field' | 'value' | 'comparison' | 'nothing'
}[] = [
  { kind: 'ATTRIBUTE_ADDED', to: draft({}, attribute('team')), breaks: 'nothing' },
  { kind: 'ATTRIBUTE_RELABELED', to: draft({ label: 'Afdeling' }), breaks: 'nothing' },
  { kind: 'ATTRIBUTE_KEY_CHANGED', to: draft({ key: 'afdeling' }), breaks: 'nothing' },
  { kind: 'ATTRIBUTE_TYPE_CHANGED', to: draft({ dataType: 'TEXT' }), breaks: 'comparison' },
  { kind: 'ATTRIBUTE_REQUIRED_CHANGED', to: draft({ required: true }), breaks: 'nothing' },
  { kind: 'ATTRIBUTE_SOURCE_CHANGED', to: draft({ source: 'HRIS' }), breaks: 'nothing' },
  { kind: 'ATTRIBUTE_DEPRECATED', to: draft({ deprecatedAt: new Date() }), breaks: 'nothing' },
  { kind: 'ATTRIBUTE_DESCRIBED', to: draft({ sensitive: true }), breaks: 'nothing' },
  { kind: 'VALUE_ADDED', to: withValues(sales, research, hr, value('legal')), breaks: 'nothing' },
  { kind: 'VALUE_REMOVED', to: withValues(research, hr), breaks: 'value' },
  { kind: 'VALUE_RELABELED', to: withValues({ ...sales, label: 'Verkoop' }, research, hr), breaks: 'nothing' },
  { kind: 'VALUE_KEY_CHANGED', to: withValues({ ...sales, key: 'verkoop' }, research, hr), breaks: 'nothing' },
  { kind: 'VALUE_MOVED', to: withValues({ ...sales, parentValueId: 'hr' }, research, hr), breaks: 'nothing' },
  { kind: 'VALUE_DEPRECATED', to: withValues({ ...sales, deprecatedAt: new Date() }, research, hr), breaks: 'nothing' },
]

describe('net changes', () => {
  test.each(MATRIX)('C02 $kind breaks $breaks of a filter that refers by id', ({ kind, to, breaks }) => {
    expect(kindsOf(to)).toEqual([kind])
    const filter = { op: 'cond', field: 'department', cmp: 'in', values: ['sales'] } as const
    const codes = problemsOf(filter, fieldsOf(to)).map(({ code }) => code)
    const expected = { field: ['unknown_field'], value: ['unknown_value'], comparison: ['comparison_not_applicable'] }
    expect(codes).toEqual(breaks === 'nothing' ? [] : expected[breaks])
  })

  test('C02 removing an attribute names the attribute and each of its values', () => {
    const to = snapshotOf('v2', [LEVEL])
    expect(kindsOf(to)).toEqual(['ATTRIBUTE_REMOVED', 'VALUE_REMOVED', 'VALUE_REMOVED', 'VALUE_REMOVED'])
    const filter = { op: 'cond', field: 'department', cmp: 'isSet' } as const
    expect(problemsOf(filter, fieldsOf(to)).map(({ code }) => code)).toEqual(['unknown_field'])
  })

  test('C02 an attribute whose place another one takes is replaced, not removed', () => {
    const successor = attribute('afdeling', { replacesAttributeId: 'department' })
    const [replaced] = netChanges(BASE, snapshotOf('v2', [successor, LEVEL])).filter(
      ({ attributeId, valueId }) => attributeId === 'department' && valueId === null,
    )
    expect(replaced).toMatchObject({ kind: 'ATTRIBUTE_REPLACED', after: { replacedBy: 'afdeling' } })
  })

  test('two successors do not say which one: the attribute is removed', () => {
    const successors = ['a', 'b'].map((id) => attribute(id, { replacesAttributeId: 'department' }))
    expect(kindsOf(snapshotOf('v2', [...successors, LEVEL]))).toContain('ATTRIBUTE_REMOVED')
  })

  test('taking the first of a list away moves none of the others, changing places moves those that changed', () => {
    expect(kindsOf(withValues(research, hr))).toEqual(['VALUE_REMOVED'])
    expect(kindsOf(withValues(research, sales, hr))).toEqual(['VALUE_REORDERED', 'VALUE_REORDERED'])
    expect(kindsOf(snapshotOf('v2', [LEVEL, DEPARTMENT]))).toEqual(['ATTRIBUTE_REORDERED', 'ATTRIBUTE_REORDERED'])
  })

  test('sort numbers and the version mean nothing by themselves', () => {
    const renumbered = snapshotOf('v9', [
      { ...DEPARTMENT, sortOrder: 40 },
      { ...LEVEL, sortOrder: 70 },
    ])
    expect(netChanges(BASE, renumbered)).toEqual([])
  })

  test('a version does not differ from itself, and the way back names the opposite', () => {
    expect(netChanges(BASE, BASE)).toEqual([])
    const to = withValues(research, hr)
    expect(netChanges(to, BASE).map(({ kind }) => kind)).toEqual(['VALUE_ADDED'])
    expect(netChanges(to, BASE)[0]?.id).not.toBe(netChanges(BASE, to)[0]?.id)
  })

  test('the same end gives the same changes with the same ids, whichever edits led there', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(EDITS.length - 1)), fc.infiniteStream(fc.nat()), (chosen, random) => {
        const detour = chosen.flatMap((edit) => [edit, edit])
        const shuffled = chosen.toSorted(() => ((random.next().value as number) % 2 === 0 ? 1 : -1))
        const [straight, other] = [chosen, shuffled].map((edits) => netChanges(BASE, applied(edits)))
        expect(other).toEqual(straight)
        // Done and undone, each of them: no change at all.
        expect(netChanges(BASE, applied(detour))).toEqual([])
      }),
    )
  })
})

/** Edits that commute and are their own inverse: once is a change, twice is none. */
const EDITS: readonly ((model: ModelSnapshot) => ModelSnapshot)[] = [
  toggleAttribute('team'),
  toggleAttribute('place'),
  toggleAttribute('level'),
  (model) => changed(model, (it) => ({ ...it, label: it.label === 'department' ? 'Afdeling' : 'department' })),
  (model) => changed(model, (it) => ({ ...it, required: !it.required })),
  (model) => changed(model, (it) => ({ ...it, key: it.key === 'department' ? 'afdeling' : 'department' })),
  toggleValue('legal'),
  toggleValue('hr'),
]

const applied = (edits: readonly number[]): ModelSnapshot =>
  edits.reduce((model, edit) => EDITS[edit]?.(model) ?? model, BASE)

// Order is a change of its own, so what comes back goes to its fixed place.
const PLACES = ['department', 'level', 'team', 'place']
function toggleAttribute(id: string) {
  return (model: ModelSnapshot): ModelSnapshot => {
    const others = [...model.attributes.values()].filter((it) => it.id !== id)
    const back = id === 'level' ? LEVEL : attribute(id)
    const all = model.attributes.has(id) ? others : [...others, back]
    return snapshotOf(
      model.versionId,
      all.toSorted((a, b) => PLACES.indexOf(a.id) - PLACES.indexOf(b.id)),
    )
  }
}

const VALUE_PLACES = ['sales', 'research', 'hr', 'legal']
function toggleValue(id: string) {
  return (model: ModelSnapshot): ModelSnapshot =>
    changed(model, (it) => {
      const others = it.values.filter((candidate) => candidate.id !== id)
      const all = others.length < it.values.length ? others : [...others, value(id)]
      return { ...it, values: all.toSorted((a, b) => VALUE_PLACES.indexOf(a.id) - VALUE_PLACES.indexOf(b.id)) }
    })
}

const changed = (model: ModelSnapshot, change: (department: ModelAttribute) => ModelAttribute): ModelSnapshot =>
  snapshotOf(
    model.versionId,
    [...model.attributes.values()].map((it) => (it.id === 'department' ? change(it) : it)),
  )

describe('the hash of a version', () => {
  test('says what the content is, not which version holds it or how it was read', () => {
    const shuffled = snapshotOf('v7', [LEVEL, { ...DEPARTMENT, values: [hr, sales, research] }])
    expect(contentHashOf(shuffled)).toBe(contentHashOf(BASE))
    expect(contentHashOf(draft({ label: 'Afdeling' }))).not.toBe(contentHashOf(BASE))
    expect(contentHashOf(BASE)).toMatch(/^[0-9a-f]{64}$/)
  })
})

describe('the model as fields', () => {
  test('descendants are found through all levels, and a cycle in a draft ends', () => {
    const values = [
      value('nl'),
      value('utrecht', { parentValueId: 'nl' }),
      value('zeist', { parentValueId: 'utrecht' }),
    ]
    const place = attribute('place', { dataType: 'HIERARCHY', values })
    const descendants = (model: ModelSnapshot, root: string) =>
      fieldsOf(model).field('place')?.withDescendants([root]).toSorted()
    expect(descendants(snapshotOf('v', [place]), 'nl')).toEqual(['nl', 'utrecht', 'zeist'])
    expect(descendants(snapshotOf('v', [place]), 'zeist')).toEqual(['zeist'])
    const cycle = { ...place, values: [value('nl', { parentValueId: 'zeist' }), ...values.slice(1)] }
    expect(descendants(snapshotOf('v', [cycle]), 'utrecht')).toEqual(['nl', 'utrecht', 'zeist'])
  })
})
