import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { projectFolder } from '../../src/database/index.ts'
import { commonFolder, freshCopy, homeFor, npm, type Person, processesOf, remove, startNpm } from './place.ts'

const asRoot = process.getuid?.() === 0
const folder = asRoot ? commonFolder() : ''
afterAll(() => {
  if (folder !== '') remove(folder)
})

// `nobody`: PostgreSQL wants a user that has a name.
const ORDINARY = 65_534
// Starts servers, and kills them: where this passes, the rest does.
const SMALL_TEST = 'test/database/embedded-postgres.test.ts'
const hasDemo = existsSync(join(projectFolder(), 'examples', 'demo', 'main.ts'))

/** Both commands, and the tests a second time: then nothing is made again. */
async function bothCommands(person: Person, project: string): Promise<void> {
  const first = await npm(person, project, 'test', '--', SMALL_TEST)
  expect(first.output).toMatch(/Installing packages … .*\n.*Generating the database client … .*\n(.*\n)*Compiling … /)
  expect(first.code, first.output).toBe(0)
  const second = await npm(person, project, 'test', '--', SMALL_TEST)
  expect(second.code, second.output).toBe(0)
  expect(second.output).not.toContain('…')
  if (hasDemo) {
    const demo = await npm(person, project, 'run', 'demo')
    expect(demo.code, demo.output).toBe(0)
    expect(demo.output).not.toContain('…')
  }
}

// Another user can be played by root only: everybody else sees these as skipped.
describe.skipIf(!asRoot)('a bare machine (needs root, to play other users)', () => {
  test('an ordinary user, in a folder with spaces, + and @', async () => {
    const person = homeFor(ORDINARY, join(folder, 'home'), 0o755)
    await bothCommands(person, freshCopy(person, join(person.home, 'my projects + @work')))
  })

  test.each([
    { what: 'SIGTERM to npm', signal: 'SIGTERM', group: false },
    { what: 'Ctrl-C', signal: 'SIGINT', group: true },
    { what: 'SIGKILL to all of them', signal: 'SIGKILL', group: true },
  ] as const)('npm start ends whole: $what', async ({ signal, group }) => {
    const person = { uid: ORDINARY, home: join(folder, 'home') }
    const project = join(person.home, 'my projects + @work')
    const child = await startNpm(person, project, ['start'], { PORT: '0' })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += String(text)))
    await expect.poll(() => output, { timeout: 60_000 }).toContain('authorization')
    expect(processesOf(project).length).toBeGreaterThan(1)
    const npmItself = child.pid as number
    process.kill(group ? -npmItself : npmItself, signal)
    await expect.poll(() => processesOf(project), { timeout: 30_000 }).toEqual([])
  })

  test('root, in a home that nobody else may enter', async () => {
    const person = homeFor(0, join(folder, 'root'), 0o700)
    await bothCommands(person, freshCopy(person, join(person.home, 'regie')))
  })

  test.each(['22', '24'])('Node %s', async (node) => {
    const person = { ...homeFor(ORDINARY, join(folder, `home-${node}`), 0o700), node }
    const project = freshCopy(person, join(person.home, 'regie'))
    const version = await npm(person, project, 'exec', '--', 'node', '--version')
    expect(version.output).toContain(`v${node}.`)
    await bothCommands(person, project)
  })

  test('two first starts at the same moment install once', async () => {
    const person = homeFor(ORDINARY, join(folder, 'twice'), 0o755)
    const project = freshCopy(person, join(person.home, 'regie'))
    const both = await Promise.all([npm(person, project, 'run', 'build'), npm(person, project, 'run', 'build')])
    expect(both.map(({ code }) => code)).toEqual([0, 0])
    const output = both.map((run) => run.output).join('')
    expect(output.match(/Installing packages …/g)).toHaveLength(1)
    expect(output).toContain('Another process makes the project ready; waiting for it.')
  })

  test('a step that fails says so in one sentence and keeps the exit code', async () => {
    const person = homeFor(ORDINARY, join(folder, 'broken'), 0o755)
    const project = freshCopy(person, join(person.home, 'regie'))
    const lock = join(project, 'package-lock.json')
    writeFileSync(lock, readFileSync(lock, 'utf8').replace('"lockfileVersion"', '"lockfileVersion":'))
    const { code, output } = await npm(person, project, 'test')
    expect(code).not.toBe(0)
    expect(output).toContain('The packages could not be installed. What the tool says about it stands above.')
    expect(output).not.toMatch(/\n\s+at /)
  })

  test('a folder that may not be written: one sentence', async () => {
    const owner = homeFor(0, join(folder, 'read-only'), 0o755)
    const project = freshCopy(owner, join(owner.home, 'regie'))
    const stranger = homeFor(ORDINARY, join(folder, 'stranger'), 0o755)
    const { code, output } = await npm(stranger, project, 'test')
    expect(code).toBe(1)
    expect(output).toContain(`Give this user the right to write in ${project}.`)
    expect(output).not.toMatch(/\n\s+at /)
  })
})
