import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectFolder } from '../../src/database/index.ts'

// docs/job-rules.md says for each line of the specification what shows it. This compares it with the tests there are.

const LINES = [
  ...Array.from({ length: 107 }, (_, index) => `J${String(index + 1).padStart(2, '0')}`),
  ...Array.from({ length: 8 }, (_, index) => `K${index + 1}`),
]

const rows = readFileSync(join(projectFolder(), 'docs/job-rules.md'), 'utf8')
  .split('\n')
  .filter((line) => /^\| [JK]\d/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([, line, short, where, shown]) => ({ line: line!, short: short!, where: where!, shown: shown! }))

/** Which numbers the names of a file's tests and groups begin with. */
const numbersOf = (text: string): Set<string> =>
  new Set(
    [...text.matchAll(/\b(?:test|describe)(?:\.\w+(?:\([^)]*\))?)*\(\s*['"`]((?:[JK]\d+ )+)/g)].flatMap(([, numbers]) =>
      numbers!.trim().split(' '),
    ),
  )

test('every line of the specification has its row, once and in order', () => {
  expect(rows.map(({ line }) => line)).toEqual(LINES)
  for (const { line, short, where, shown } of rows)
    expect(
      [short, where, shown].every((cell) => cell !== ''),
      line,
    ).toBe(true)
})

test('every test that a row names is there and begins with the row’s number', () => {
  for (const { line, shown } of rows)
    for (const [, file] of shown.matchAll(/`(test\/[^`]+)`/g))
      expect(numbersOf(readFileSync(join(projectFolder(), file!), 'utf8')), `${file} for ${line}`).toContain(line)
})

test('every number at the head of a test is a line of the specification', () => {
  const files = readdirSync(join(projectFolder(), 'test'), { recursive: true, encoding: 'utf8' })
  for (const file of files.filter((name) => name.endsWith('.test.ts')))
    for (const number of numbersOf(readFileSync(join(projectFolder(), 'test', file), 'utf8')))
      expect(LINES, file).toContain(number)
})
