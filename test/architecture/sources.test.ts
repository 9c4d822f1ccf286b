import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { migrationFiles, projectFolder } from '../../src/database/index.ts'
import { places, sources } from './sources.ts'

const source = sources(['src'], /\.ts$/)
const domain = source.filter(({ path }) => path.startsWith('src/domain/'))

test('there is something to look at', () => {
  expect(source.length).toBeGreaterThan(100)
  expect(domain.length).toBeGreaterThan(20)
})

test('the SQL of src/jobs touches no table but its own', () => {
  const tables = migrationFiles().flatMap(({ name, sql }) =>
    [...sql.matchAll(/^\s*create (?:unlogged )?table (?:if not exists )?(\w+)/gim)].map(([, table]) => ({
      name,
      table,
    })),
  )
  const foreign = tables.filter(({ name }) => !/_jobs?(_|$)/.test(name)).map(({ table }) => table)
  expect(foreign).toEqual(expect.arrayContaining(['tenant', 'persona', 'org_model_version']))
  const jobs = source.filter(({ path }) => path.startsWith('src/jobs/'))
  expect(
    places(jobs, new RegExp(`\\b(?:from|join|into|update|table|only)\\s+(?:${foreign.join('|')})\\b(?!\\s*\\()`, 'i')),
  ).toEqual([])
})

test('every SQL statement has a name of its own', () => {
  const names = source.flatMap(({ text }) =>
    [...text.matchAll(/\bstatement(?:<(?:[^()]|\([^()]*\))*?>)?\(\s*'([^']+)'\s*,/g)].map(([, name]) => name as string),
  )
  expect(names.length).toBeGreaterThan(50)
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([])
})

test('no nested write reaches a row by its id alone', () => {
  // Prisma's `connect` and its kin look a row up without its tenant: with composite keys they moved another tenant's.
  const nested = /\b(?:connect|connectOrCreate|disconnect)\s*:\s*[[{]|\bset\s*:\s*\[/
  expect(
    places(
      source.filter(({ path }) => /^src\/(domain|schema|viewer)\//.test(path)),
      nested,
    ),
  ).toEqual([])
})

test('a domain sends no SQL that does not begin with its tenant', () => {
  // `tx.query` and the reader made of a call put the tenant first; `run` sees all tenants.
  const allowed = new Map([
    ['src/domain/organisation/reader.ts', 'makes that reader'],
    ['src/domain/organisation/versions/create.ts', 'asks the time, of no table'],
    ['src/domain/organisation/mail/draft-reminder.ts', 'finds the idle drafts of all tenants'],
    ['src/domain/organisation/periodic/reference-rebuild.ts', 'goes through all tenants'],
    ['src/domain/organisation/periodic/resolution-reaper.ts', 'finds the resolutions in flight of all tenants'],
    ['src/domain/mail/retention.ts', 'deletes what is over, of all tenants'],
  ])
  const found = places(domain, /\.run\(/).filter((place) => !allowed.has(place.split(':')[0] as string))
  expect(found).toEqual([])
})

test('a file is about one thing: its name says which, and it ends in time', () => {
  const files = [...source, ...sources(['test', 'examples', 'bench', 'client', 'scripts'], /\.m?ts$|\.mjs$/)]
  const vague = /(^|[/-])(utils?|helpers?|common|managers?|misc|shared)(\.|-|\/)/
  expect(files.map(({ path }) => path).filter((path) => vague.test(path))).toEqual([])
  const long = files
    .map(({ path, text }) => ({ path, lines: text.split('\n').length }))
    .filter(({ path, lines }) => lines > (path.startsWith('test/') ? 600 : 400))
  expect(long).toEqual([])
})

test('nothing names a machine, and nothing is left to do', () => {
  const tree = sources(['.'], /\.(ts|mjs|js|json|md|sql|prisma|graphql|yml|toml|run)$/)
  // Pieced together so that this file does not find itself.
  const paths = new RegExp(
    ['/wo' + 'rk/(main|shared)', '/ho' + 'me/\\w+/', '/Us' + 'ers/\\w+/', 'TO' + 'DO\\b', 'FIX' + 'ME\\b'].join('|'),
  )
  expect(
    places(
      tree.filter(({ path }) => path !== 'package-lock.json'),
      paths,
    ),
  ).toEqual([])
  const lock = readFileSync(join(projectFolder(), 'package-lock.json'), 'utf8')
  expect(lock.match(/"resolved": "(?!https:\/\/registry\.npmjs\.org\/)[^"]*/g) ?? []).toEqual([])
})
