import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { projectFolder } from '../../src/database/index.ts'

// A small project with our linter's configuration, in which each file breaks one rule, and some break none.
const WRONG: Readonly<Record<string, { code: string; rule: string }>> = {
  'src/errors/a.ts': { code: `import '../database/index.ts'`, rule: 'no-restricted-imports' },
  'src/database/a.ts': { code: `import '../events/index.ts'`, rule: 'no-restricted-imports' },
  'src/database/embedded/a.ts': { code: `import '../../viewer/index.ts'`, rule: 'no-restricted-imports' },
  'src/events/a.ts': { code: `import '../viewer/index.ts'`, rule: 'no-restricted-imports' },
  'src/viewer/a.ts': { code: `import '../transitions/index.ts'`, rule: 'no-restricted-imports' },
  'src/transitions/a.ts': { code: `import '../jobs/index.ts'`, rule: 'no-restricted-imports' },
  'src/jobs/a.ts': { code: `import '../domain/organisation/index.ts'`, rule: 'no-restricted-imports' },
  'src/jobs/sql/a.ts': { code: `import '../../events/append.ts'`, rule: 'no-restricted-imports' },
  'src/domain/organisation/a.ts': { code: `import '../../schema/index.ts'`, rule: 'no-restricted-imports' },
  'src/domain/organisation/b.ts': { code: `import 'graphql'`, rule: 'no-restricted-imports' },
  'src/domain/organisation/c.ts': { code: `import 'graphql-yoga'`, rule: 'no-restricted-imports' },
  'src/domain/organisation/d.ts': { code: `import 'node:http'`, rule: 'no-restricted-imports' },
  'src/domain/organisation/e.ts': { code: `import '../conditions/tree.ts'`, rule: 'no-restricted-imports' },
  'src/domain/organisation/model/f.ts': { code: `import '../../workflows/index.ts'`, rule: 'no-restricted-imports' },
  'src/domain/conditions/a.ts': { code: `import '../organisation/index.ts'`, rule: 'no-restricted-imports' },
  'src/domain/mail/a.ts': { code: `import '../organisation/index.ts'`, rule: 'no-restricted-imports' },
  'src/domain/organisation/mail/a.ts': { code: `import '../../mail/plan.ts'`, rule: 'no-restricted-imports' },
  'src/domain/notifications/a.ts': { code: `import '../lifecycles/index.ts'`, rule: 'no-restricted-imports' },
  'src/schema/a.ts': { code: `import '../server/index.ts'`, rule: 'no-restricted-imports' },
  'src/schema/b.ts': { code: `import '../domain/organisation/model/diff.ts'`, rule: 'no-restricted-imports' },
  'src/server/a.ts': { code: `import '../jobs/host/host.ts'`, rule: 'no-restricted-imports' },
  'src/jobs/b.ts': {
    code: `import { PrismaClient } from '../database/generated/prisma/client.ts'\nexport const x = PrismaClient`,
    rule: 'no-restricted-imports',
  },
  'src/events/b.ts': { code: `import pg from 'pg'\nexport const x = pg`, rule: 'no-restricted-imports' },
  'src/viewer/round.ts': { code: `import './about.ts'\nexport const x = 1`, rule: 'no-cycle' },
  'src/viewer/about.ts': { code: `import './round.ts'\nexport const x = 1`, rule: 'no-cycle' },
  'src/events/forgotten.ts': {
    code: `export function f(): void { Promise.resolve(1) }`,
    rule: 'no-floating-promises',
  },
}
const RIGHT: Readonly<Record<string, string>> = {
  'src/server/right.ts': `import '../schema/index.ts'\nimport '../domain/organisation/index.ts'\nimport '../database/index.ts'`,
  'src/domain/organisation/model/right.ts': `import './own.ts'\nimport '../versions/own.ts'\nimport '../../conditions/index.ts'\nimport '../../call.ts'`,
  'src/domain/organisation/mail/right.ts': `import '../../mail/index.ts'`,
  'src/server/mail.ts': `import '../domain/mail/addresses/index.ts'`,
  'src/domain/workflows/right.ts': `import '../organisation/index.ts'`,
  'src/domain/lifecycles/right.ts': `import '../workflows/index.ts'`,
  'src/jobs/right.ts': `import type pg from 'pg'\nimport '../events/index.ts'\nexport type X = pg.Pool`,
  'src/database/right.ts': `import pg from 'pg'\nimport './generated/prisma/client.ts'\nexport const x = pg`,
}

const folder = mkdtempSync(join(tmpdir(), 'regie-linter-'))
let findings: { file: string; rule: string }[]

beforeAll(() => {
  const project = projectFolder()
  cpSync(join(project, 'oxlint.config.mjs'), join(folder, 'oxlint.config.mjs'))
  cpSync(join(project, 'tsconfig.json'), join(folder, 'tsconfig.json'))
  symlinkSync(join(project, 'node_modules'), join(folder, 'node_modules'), 'junction')
  const files = { ...RIGHT, ...Object.fromEntries(Object.entries(WRONG).map(([path, { code }]) => [path, code])) }
  for (const [path, code] of Object.entries(files)) {
    mkdirSync(join(folder, dirname(path)), { recursive: true })
    writeFileSync(join(folder, path), `${code}\n`)
  }
  const oxlint = join(project, 'node_modules', 'oxlint', 'bin', 'oxlint')
  const { stdout, stderr } = spawnSync(process.execPath, [oxlint, '--config=oxlint.config.mjs', '--format=json'], {
    cwd: folder,
    encoding: 'utf8',
  })
  if (!stdout.startsWith('{')) throw new Error(`The linter did not run: ${stdout}${stderr}`)
  const { diagnostics } = JSON.parse(stdout) as { diagnostics: { filename: string; code: string }[] }
  findings = diagnostics.map(({ filename, code }) => ({
    file: filename.replaceAll('\\', '/'),
    rule: /\(([^)]+)\)/.exec(code)?.[1] ?? code,
  }))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test.each(Object.entries(WRONG))('refused: %s', (path, { rule }) => {
  expect(findings.filter(({ file }) => file === path).map((finding) => finding.rule)).toContain(rule)
})

test.each(Object.keys(RIGHT))('accepted: %s', (path) => {
  expect(findings.filter(({ file }) => file === path)).toEqual([])
})
