import { spawn, type ChildProcess } from 'node:child_process'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { projectFolder } from '../../src/database/index.ts'
import { useDatabase } from '../harness/database.ts'

// The compiled program, as `npm start` runs it.
const db = useDatabase()
const running = new Set<ChildProcess>()

interface Program {
  readonly child: ChildProcess
  readonly output: () => string
  readonly errors: () => string
  readonly exit: Promise<{ code: number | null; signal: string | null }>
  /** Resolves to where it listens. */
  readonly url: () => Promise<string>
}

function start(file: 'main' | 'migrate', environment: Record<string, string> = {}, args: string[] = []): Program {
  const child = spawn(process.execPath, [join(projectFolder(), 'dist', 'src', 'server', `${file}.js`), ...args], {
    env: { PATH: process.env['PATH'], DATABASE_URL: db.url, PORT: '0', THREADS: '0', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  let output = ''
  let errors = ''
  child.stdout.on('data', (text) => (output += String(text)))
  child.stderr.on('data', (text) => (errors += String(text)))
  const exit = new Promise<{ code: number | null; signal: string | null }>((resolve) =>
    child.once('close', (code, signal) => {
      running.delete(child)
      resolve({ code, signal })
    }),
  )
  const url = async () => {
    await expect.poll(() => output, { timeout: 20_000 }).toMatch(/listens on http\S+/)
    return /listens on (http\S+)/.exec(output)![1]!
  }
  return { child, output: () => output, errors: () => errors, exit, url }
}

afterEach(() => {
  for (const child of running) child.kill('SIGKILL')
})

/** Ended with code 1 after a few plain lines. */
async function refused(program: Program): Promise<string> {
  expect(await program.exit).toEqual({ code: 1, signal: null })
  const text = program.errors()
  expect(text).not.toMatch(/\n\s+at |Error:|node:internal/)
  expect(text.trim().split('\n').length).toBeLessThanOrEqual(3)
  return text
}

test('npm start prints where it is and a token that works, and SIGTERM ends it with 0', async () => {
  const program = start('main')
  const url = await program.url()
  await expect.poll(() => program.output()).toMatch(/"Bearer [\w.-]+"/)
  const token = /"Bearer ([\w.-]+)"/.exec(program.output())![1]!
  const answer = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: '{"query":"{ viewer { subject } }"}',
  })
  expect(await answer.json()).toEqual({ data: { viewer: { subject: 'developer' } } })
  program.child.kill('SIGTERM')
  expect(await program.exit).toEqual({ code: 0, signal: null })
  expect(program.errors()).toBe('')
  expect(program.output()).not.toMatch(/"level":"(warn|error|fatal)"/)
  const { rows } = await db.pool.query(
    `select pid from pg_stat_activity where datname = current_database() and application_name = 'regie server'`,
  )
  expect(rows).toEqual([])
})

test('one Ctrl-C that arrives twice is one orderly stop', async () => {
  const program = start('main')
  await program.url()
  program.child.kill('SIGINT')
  program.child.kill('SIGINT')
  expect(await program.exit).toEqual({ code: 0, signal: null })
})

test('a second Ctrl-C ends it at once', async () => {
  const program = start('main', { DRAIN_MS: '600000' })
  const { hostname, port } = new URL(await program.url())
  const unfinished = connect(Number(port), hostname)
  unfinished.on('error', () => {})
  unfinished.write(
    'POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{',
  )
  const ready = async () => (await fetch(`http://${hostname}:${port}/health/ready`)).status
  expect(await ready()).toBe(200)
  program.child.kill('SIGINT')
  await expect.poll(ready).toBe(503)
  const again = setInterval(() => program.child.kill('SIGINT'), 100)
  expect(await program.exit).toEqual({ code: 130, signal: null })
  clearInterval(again)
  unfinished.destroy()
})

test('a start that waits for another process’s migration can be stopped', async () => {
  const migrating = await db.pool.connect()
  try {
    await migrating.query('begin; select pg_advisory_xact_lock(72707369)')
    const program = start('main')
    // Of this database: other test files start programs on the same server.
    const waiting = `select from pg_stat_activity
      where application_name = 'regie migrate' and datname = current_database()`
    await expect.poll(async () => (await db.pool.query(waiting)).rowCount, { timeout: 20_000 }).toBe(1)
    program.child.kill('SIGTERM')
    expect(await program.exit).toEqual({ code: 0, signal: null })
  } finally {
    migrating.release(true)
  }
})

test('a port in use is two sentences and exit code 1', async () => {
  const other = createServer()
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const { port } = other.address() as AddressInfo
  expect(await refused(start('main', { PORT: String(port) }))).toBe(
    `Regie cannot listen on 127.0.0.1:${port}. Another process uses that port.\n` +
      `Set PORT to a free port, for example PORT=${port + 1}; PORT=0 takes any.\n`,
  )
  await new Promise((resolve) => other.close(resolve))
})

test('an open address without an identity provider is refused', async () => {
  expect(await refused(start('main', { HOST: '0.0.0.0' }))).toContain('Regie does not make development tokens here.')
})

test('a database that is not there is said to be so', async () => {
  const text = await refused(start('main', { DATABASE_URL: 'postgresql://regie:topsecret@127.0.0.1:1/regie' }))
  expect(text).not.toContain('topsecret')
})

test('an argument that means nothing is refused', async () => {
  expect(await refused(start('main', {}, ['--rolle', 'api']))).toContain('The argument "--rolle" means nothing here.')
})

test('with MIGRATE=off a start on an empty database says what to run; migrate does it, once', async () => {
  const name = `empty_${process.pid}`
  await db.pool.query(`create database ${name}`)
  const empty = new URL(db.url)
  empty.pathname = `/${name}`
  const environment = { DATABASE_URL: empty.href }
  try {
    expect(await refused(start('main', { ...environment, MIGRATE: 'off' }))).toContain('Run: npm run migrate')
    const first = start('migrate', environment)
    expect(await first.exit).toEqual({ code: 0, signal: null })
    expect(first.output()).toMatch(/applied \d+_\w+\n/)
    const second = start('migrate', environment)
    expect(await second.exit).toEqual({ code: 0, signal: null })
    expect(second.output()).toMatch(/^The database holds all \d+ migrations; nothing was to do\.\n$/)
  } finally {
    await db.pool.query(`drop database ${name} with (force)`)
  }
})

test('worker threads start and stop with the process', async () => {
  const program = start('main', { THREADS: '2', ROLE: 'worker' })
  const url = await program.url()
  expect(await (await fetch(`${url}/metrics`)).text()).toContain('regie_jobs_held 0')
  program.child.kill('SIGTERM')
  expect(await program.exit).toEqual({ code: 0, signal: null })
})
