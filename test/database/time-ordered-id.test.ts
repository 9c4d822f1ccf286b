import { validate, version } from 'uuid'
import { expect, test } from 'vitest'
import { timeOrderedId } from '../../src/database/index.ts'

test('ids are UUIDv7 of now, differ, and rise within one process however many come in one millisecond', () => {
  const before = Date.now()
  const ids = Array.from({ length: 20_000 }, timeOrderedId)
  expect(ids.every((id) => validate(id) && version(id) === 7)).toBe(true)
  expect(ids.toSorted()).toEqual(ids)
  expect(new Set(ids).size).toBe(ids.length)
  const written = Number.parseInt(ids[0]!.replaceAll('-', '').slice(0, 12), 16)
  expect(Math.abs(written - before)).toBeLessThan(1_000)
})
