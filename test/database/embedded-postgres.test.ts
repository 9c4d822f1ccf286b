import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { EmbeddedPostgres } from '../../src/database/index.ts'

// One project for all tests and a server of its own name for each: root's copy of the programs is made once.
const project = mkdtempSync(join(tmpdir(), 'regie project + @ '))
const places = new Set<string>()
let name: string
let tests = 0
const children: ChildProcess[] = []
const servers: EmbeddedPostgres[] = []

beforeEach(() => {
  name = `server-${tests++}`
})
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  for (const server of servers.splice(0)) if (isAlive(server.pid)) await server.stop()
})
afterAll(() => {
  for (const folder of [project, ...places]) rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

const start = async (more: { port?: number; project?: string } = {}) => {
  const server = await EmbeddedPostgres.start({ project, name, ...more })
  servers.push(server)
  places.add(dirname(server.folder))
  return server
}

/** Another process that owns, or is refused, the project's server. */
async function anotherProcess(): Promise<{
  child: ChildProcess
  says: { pid: number; url: string; refused?: string }
}> {
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', join(import.meta.dirname, 'own-a-server.ts'), project, name],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  children.push(child)
  const [line] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer]
  return { child, says: JSON.parse(line.toString()) }
}

async function ask(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  const { rows } = await client.query(sql)
  await client.end()
  return rows
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

test('a server starts, keeps its data over a stop, and leaves no process behind', async () => {
  const first = await start()
  await ask(first.url(), 'create table kept (n int)')
  await first.stop()
  expect(isAlive(first.pid)).toBe(false)
  const second = await start()
  expect(await ask(second.url(), 'select count(*)::int as n from kept')).toEqual([{ n: 0 }])
})

test('it listens at loopback only, behind a password, in UTC, and folds case beyond ASCII', async () => {
  const server = await start()
  const [settings] = await ask(
    server.url(),
    `select current_setting('listen_addresses') as listen, current_setting('unix_socket_directories') as socket,
            current_setting('timezone') as zone, upper('é') as upper`,
  )
  expect(settings).toEqual({ listen: '127.0.0.1', socket: '', zone: 'UTC', upper: 'É' })
  const stranger = new URL(server.url())
  stranger.password = 'guess'
  await expect(ask(stranger.href, 'select 1')).rejects.toMatchObject({ code: '28P01' })
})

test('a second process of the same project is told who has the server', async () => {
  const owner = await start()
  const { says } = await anotherProcess()
  expect(says.refused).toBe(
    `The embedded PostgreSQL of this folder is already in use. Regie's process ${process.pid} has started it. ` +
      'Stop that process first; to run several on one database, give all of them the same DATABASE_URL.',
  )
  expect(await ask(owner.url(), 'select 1 as n')).toEqual([{ n: 1 }])
})

test('two projects have a server each', async () => {
  const one = await start()
  const other = mkdtempSync(join(tmpdir(), 'regie-other-'))
  const two = await start({ project: other })
  expect(two.port).not.toBe(one.port)
  expect(two.folder).not.toBe(one.folder)
  rmSync(other, { recursive: true, force: true })
})

test('when its process is killed with -9 the server stops by itself', async () => {
  const { child, says } = await anotherProcess()
  await ask(says.url, 'create table kept (n int)')
  child.kill('SIGKILL')
  await expect.poll(() => isAlive(says.pid), { timeout: 10_000 }).toBe(false)
  const next = await start()
  expect(await ask(next.url(), 'select count(*)::int as n from kept')).toEqual([{ n: 0 }])
})

test('SIGTERM to the process ends server and process', async () => {
  const { child, says } = await anotherProcess()
  child.kill('SIGTERM')
  expect((await once(child, 'exit'))[0]).toBe(0)
  expect(isAlive(says.pid)).toBe(false)
})

test('a server whose owner and guard are gone is stopped by the next start', async () => {
  const orphan = await start()
  await ask(orphan.url(), 'create table kept (n int)')
  // As after `kill -9` of the whole process group: nobody is left to hold the owner's session.
  const owners = `from pg_stat_activity where application_name like 'regie-owner%'`
  await ask(orphan.url(), `select pg_terminate_backend(pid) ${owners}`)
  // The session is told to end, and ends a moment later.
  await expect.poll(() => ask(orphan.url(), `select count(*)::int as n ${owners}`)).toEqual([{ n: 0 }])
  const next = await start()
  expect(isAlive(orphan.pid)).toBe(false)
  expect(await ask(next.url(), 'select count(*)::int as n from kept')).toEqual([{ n: 0 }])
})

test('a power cut: the stale pid file is no obstacle, and what was committed is there', async () => {
  const first = await start()
  await ask(first.url(), 'create table kept as select 1 as n')
  await first.crash()
  expect(existsSync(join(first.folder, 'data', 'postmaster.pid'))).toBe(true)
  const second = await start()
  expect(await ask(second.url(), 'select n from kept')).toEqual([{ n: 1 }])
})

test('a stale pid file whose number now belongs to a stranger is no obstacle either', async () => {
  const first = await start()
  await first.crash()
  const file = join(first.folder, 'data', 'postmaster.pid')
  writeFileSync(file, readFileSync(file, 'utf8').replace(/^\d+/, String(process.pid)))
  const second = await start()
  expect(await ask(second.url(), 'select 1 as n')).toEqual([{ n: 1 }])
})

test('a start that was interrupted while making the data folder leaves nothing in the way', async () => {
  const first = await start()
  await first.stop()
  rmSync(first.folder, { recursive: true })
  mkdirSync(join(`${first.folder}.99999`, 'data'), { recursive: true })
  const second = await start()
  expect(await ask(second.url(), 'select 1 as n')).toEqual([{ n: 1 }])
})

test('a data folder of another major version is refused in plain words', async () => {
  const server = await start()
  await server.stop()
  writeFileSync(join(server.folder, 'data', 'PG_VERSION'), '15\n')
  await expect(start()).rejects.toMatchObject({
    name: 'StartupError',
    why: 'PostgreSQL 15 made it and the embedded server is PostgreSQL 18.',
  })
})

test('a port in use is refused in plain words', async () => {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as { port: number }
  try {
    await expect(start({ port })).rejects.toMatchObject({
      name: 'StartupError',
      message: `The embedded PostgreSQL cannot listen on port ${port}. Another program uses it. Stop that program or choose another port.`,
    })
  } finally {
    other.close()
  }
})

test.skipIf(process.getuid?.() === 0)('a folder that may not be written is refused in plain words', async () => {
  const closed = mkdtempSync(join(tmpdir(), 'regie-closed-'))
  const refusal = { name: 'StartupError', next: expect.stringContaining('DATABASE_URL') }
  try {
    chmodSync(closed, 0o500)
    await expect(start({ project: closed })).rejects.toMatchObject(refusal)
    chmodSync(closed, 0o700)
    mkdirSync(join(closed, '.data'), { mode: 0o500 })
    await expect(start({ project: closed })).rejects.toMatchObject(refusal)
  } finally {
    rmSync(closed, { recursive: true })
  }
})
