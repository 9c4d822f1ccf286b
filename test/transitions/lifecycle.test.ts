import { expect, test } from 'vitest'
import { defineLifecycle, lifecycleDiagram, lifecycleSql, type Lifecycle } from '../../src/transitions/index.ts'
import { PARCEL } from './parcel.ts'

const GOOD: Lifecycle<string> = {
  kind: 'lamp',
  table: 'lamp',
  noun: 'The lamp',
  statuses: { ON: { description: 'Burns.' }, OFF: { description: 'Broken.', terminal: true } },
  pairs: [
    { from: null, to: 'ON', type: 'lamp.made', when: 'made' },
    { from: 'ON', to: 'OFF', type: 'lamp.broke', when: 'breaks' },
  ],
}
const [made, broke] = GOOD.pairs as [Lifecycle<string>['pairs'][number], Lifecycle<string>['pairs'][number]]

test('a sound lifecycle is returned as it is', () => {
  expect(defineLifecycle(GOOD)).toBe(GOOD)
})

test.each<[string, Partial<Lifecycle<string>>, string]>([
  ['a pair that stands twice', { pairs: [made, broke, broke] }, 'ON → OFF stands twice.'],
  ['an unknown status', { pairs: [made, broke, { ...broke, to: 'DIM' }] }, 'ON → DIM names an unknown status.'],
  ['a way out of an end', { pairs: [made, broke, { ...broke, from: 'OFF', to: 'ON' }] }, 'OFF is terminal but has'],
  ['no way out of what is no end', { pairs: [made] }, 'ON has no way out'],
  ['a status that nothing leads to', { pairs: [made, { ...broke, to: 'ON' }] }, 'No pair leads to OFF.'],
  ['no creation', { pairs: [broke] }, 'Nothing creates it.'],
  ['a table name that is not one', { table: 'lamp; drop table lamp' }, 'is not a name in snake_case.'],
])('%s is refused', (_, slip, message) => {
  expect(() => defineLifecycle({ ...GOOD, ...slip })).toThrow(message)
})

test('the SQL of a migration holds every pair, and creation as the empty status', () => {
  const sql = lifecycleSql(PARCEL)
  expect(sql).toContain(`('parcel', '', 'PACKED')`)
  expect(sql).toContain(`('parcel', 'SENT', 'LOST')`)
  expect(sql.match(/\('parcel', /g)).toHaveLength(PARCEL.pairs.length)
  expect(sql).toContain(`execute function check_transition('parcel')`)
})

test('the diagram shows every pair and both ends', () => {
  expect(lifecycleDiagram(PARCEL).split('\n')).toEqual([
    'stateDiagram-v2',
    '  [*] --> PACKED: packed',
    '  PACKED --> SENT: handed over',
    '  SENT --> SENT: sent again',
    '  SENT --> PACKED: came back',
    '  SENT --> DELIVERED: arrived',
    '  SENT --> LOST: never arrived',
    '  DELIVERED --> [*]',
    '  LOST --> [*]',
  ])
})
