import { GraphQLError, parseValue } from 'graphql'
import { describe, expect, test } from 'vitest'
import { parseBigInt } from '../../src/schema/scalars/big-int.ts'
import { parseDateTime, parseDay, serializeDateTime, serializeDay } from '../../src/schema/scalars/date-time.ts'
import { parseEventCursor } from '../../src/schema/scalars/event-cursor.ts'
import { jsonLiteral, parseJson, parseJsonObject } from '../../src/schema/scalars/json.ts'
import { parseUuid } from '../../src/schema/scalars/uuid.ts'

const refused = (parse: (value: unknown) => unknown, values: readonly unknown[]) => {
  for (const value of values) expect(() => parse(value), JSON.stringify(value)).toThrow(GraphQLError)
}

describe('R21 DateTime', () => {
  test('R21 reads any offset, gives UTC with milliseconds', () => {
    expect(serializeDateTime(parseDateTime('2026-11-30T13:00:00+01:00'))).toBe('2026-11-30T12:00:00.000Z')
    expect(serializeDateTime(parseDateTime('2026-11-30t12:00:00.5z'))).toBe('2026-11-30T12:00:00.500Z')
  })

  test('R21 refuses what has no offset or is no moment', () => {
    refused(parseDateTime, [
      '2026-11-30T12:00:00',
      '2026-11-30',
      '2026-02-30T00:00:00Z',
      '2026-11-30T25:00:00Z',
      0,
      null,
      '',
    ])
  })

  test('R21 a Date is a day of the calendar', () => {
    expect(parseDay('2028-02-29')).toBe('2028-02-29')
    expect(serializeDay(new Date('2026-11-30T00:00:00Z'))).toBe('2026-11-30')
    refused(parseDay, ['2026-02-29', '2026-1-1', '2026-11-30T00:00:00Z', 20261130])
  })
})

test('R21 UUID has one spelling behind the API', () => {
  expect(parseUuid('0190A000-0000-7000-8000-00000000000F')).toBe('0190a000-0000-7000-8000-00000000000f')
  refused(parseUuid, ['0190a000000070008000000000000001', '{0190a000-0000-7000-8000-000000000001}', '', 7, null])
})

test('R21 BigInt is a string of digits of at most 64 bits', () => {
  expect(parseBigInt('9223372036854775807')).toBe(9223372036854775807n)
  expect(parseBigInt(42)).toBe(42n)
  refused(parseBigInt, ['9223372036854775808', '1.5', '1e3', '007', '', 2 ** 53, 1.5, null])
})

test('R21 EventCursor is any text of ours, never empty or endless', () => {
  expect(parseEventCursor('abc')).toBe('abc')
  refused(parseEventCursor, ['', 'x'.repeat(513), 1, null])
})

describe('R21 JSON', () => {
  const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) })

  test('R21 takes any value within its limits', () => {
    expect(parseJson({ a: [1, 'x', null, true] })).toEqual({ a: [1, 'x', null, true] })
    expect(parseJson(deep(20))).toEqual(deep(20))
  })

  test('R21 refuses what is too deep or too large, and a key that reaches the prototype', () => {
    refused(parseJson, [deep(21), 'x'.repeat(65 * 1024), JSON.parse('{"a":{"__proto__":{"admin":true}}}')])
  })

  test('R21 JSONObject is an object', () => {
    expect(parseJsonObject({ a: 1 })).toEqual({ a: 1 })
    refused(parseJsonObject, [[], null, 'x', 1])
  })

  test('R21 a literal in the document means the same, also with variables and __proto__ in it', () => {
    const literal = (text: string, variables = {}) => parseJson(jsonLiteral(parseValue(text), variables))
    expect(literal('{a: [1, 2.5, "x", null, true, RED, $v]}', { v: { b: 1 } })).toEqual({
      a: [1, 2.5, 'x', null, true, 'RED', { b: 1 }],
    })
    expect(() => literal('{__proto__: {admin: true}}')).toThrow(GraphQLError)
    expect(() => literal(`${'['.repeat(30)}${']'.repeat(30)}`)).toThrow(GraphQLError)
  })
})
