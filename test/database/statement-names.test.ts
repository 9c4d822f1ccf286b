import { expect, test } from 'vitest'
import { StatementNames } from '../../src/database/statement-names.ts'

test('a text is named when it is seen again, and always the same', () => {
  const names = new StatementNames()
  expect(names.of('select 1')).toBe('')
  expect(names.of('select 1')).toBe('prisma_0')
  expect(names.of('select 1')).toBe('prisma_0')
  expect(names.of('select 2')).toBe('')
})

test('ever new texts use up neither the names nor the memory', () => {
  const names = new StatementNames(10)
  for (let n = 0; n < 1000; n++) expect(names.of(`once ${n}`)).toBe('')
  const given = new Set<string>()
  for (let round = 0; round < 2; round++) for (let n = 0; n < 10; n++) given.add(names.of(`often ${n}`))
  for (let n = 0; n < 10; n++) given.add(names.of(`more ${n}`)).add(names.of(`more ${n}`))
  given.delete('')
  expect(given.size).toBe(10)
})
