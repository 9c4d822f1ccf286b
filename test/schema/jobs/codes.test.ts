import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { sources } from '../../architecture/sources.ts'

test('R15 docs/error-codes.md explains every code that an operator’s act can be refused with, and no other', () => {
  const acts = sources(['src/jobs/operating', 'src/jobs/batches'], /\.ts$/)
  const used = acts.flatMap(({ text }) => [...text.matchAll(/'(job\.[a-z_]+)'/g)].map(([, code]) => code!))
  const [, section = ''] = readFileSync('docs/error-codes.md', 'utf8').split('## Codes of operators’ acts')
  const explained = [...section.matchAll(/^\|([^|]+)\|/gm)].flatMap(([, cell]) =>
    [...cell!.matchAll(/`(job\.[a-z_]+)`/g)].map(([, code]) => code!),
  )
  expect(explained.length).toBe(new Set(explained).size)
  expect(explained.toSorted()).toEqual([...new Set(used)].toSorted())
})
