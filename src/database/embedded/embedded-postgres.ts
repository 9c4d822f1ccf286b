import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { StartupError } from '../startup-error.ts'
import { type Account, serverAccount } from './account.ts'
import { type Binaries, binaries, moveInto } from './binaries.ts'
import { type Guard, guard } from './guard.ts'
import { placeOf } from './place.ts'
import { freeDataFolder, isServerOf, readPostmaster, takeOwnership } from './postmaster.ts'

export interface EmbeddedOptions {
  /** The project's folder; two projects never share a server. */
  readonly project: string
  /** Name of the server's folder within the project's place: `main` for people, others for tests. */
  readonly name: string
  /** Server settings beside the usual ones, as `{ max_connections: '300' }`. */
  readonly settings?: Readonly<Record<string, string>>
  /** Port to listen on, at loopback only; left out, a free one. */
  readonly port?: number
}

/**
 * A real PostgreSQL server that this process owns: started here and stopped here. When this process is killed
 * the guard stops the server; should that fail too, the next start does.
 */
export class EmbeddedPostgres {
  readonly port: number
  /** Holds `data`, `password` and `postgres.log`. */
  readonly folder: string
  readonly #server: ChildProcess
  readonly #urlAt: (port: number, database?: string) => string
  readonly #owner: pg.Client
  readonly #guard: Guard | null
  readonly #pgCtl: string

  private constructor(started: Started) {
    this.port = started.port
    this.folder = started.folder
    this.#server = started.server
    this.#urlAt = started.urlAt
    this.#owner = started.owner
    this.#guard = started.guard
    this.#pgCtl = started.pgCtl
  }

  /** Starts the server, after making its data folder when there is none. Throws `StartupError`. */
  static async start(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
    const account = serverAccount()
    const place = placeOf(options.project, account)
    const programs = binaries(place, account)
    const folder = join(place, options.name)
    const data = join(folder, 'data')
    if (!existsSync(folder)) initialise(programs, folder, account)
    refuseOtherVersion(programs, data, account)
    const password = readPassword(folder)
    const urlAt = (port: number, database?: string) => urlOf(password, port, database)
    for (let attempt = 1; ; attempt++) {
      await freeDataFolder(data, programs.pgCtl, account, urlAt)
      const port = options.port ?? (await freePort())
      const server = launch(programs, folder, account, port, options.settings ?? {})
      if (await becameReady(server, data)) {
        const owner = await takeOwnership(urlAt(port))
        const watch = guard(server.pid as number, account)
        return new EmbeddedPostgres({ port, folder, server, urlAt, owner, guard: watch, pgCtl: programs.pgCtl })
      }
      // Another process may have taken the free port in between, and the back ends of a server that was
      // killed need a moment before they let go of its shared memory.
      const failure = didNotStart(folder, options.port)
      if (attempt === MOST_START_ATTEMPTS || failure.portIsTaken) throw failure.error
      await pause(attempt * 100)
    }
  }

  /** Connection string of the server that some process of this project runs now; null when none does. Starts nothing. */
  static urlOfRunning({ project, name }: Pick<EmbeddedOptions, 'project' | 'name'>): string | null {
    const folder = join(placeOf(project, serverAccount()), name)
    const running = readPostmaster(join(folder, 'data'))
    if (running === null || !running.ready || !isServerOf(running.pid, join(folder, 'data'))) return null
    return urlOf(readPassword(folder), running.port)
  }

  /** Connection string of a database on this server. */
  url(database?: string): string {
    return this.#urlAt(this.port, database)
  }

  /** Process id of the server's main process. */
  get pid(): number {
    return this.#server.pid as number
  }

  /** Stops the server: open transactions are rolled back, what was committed stays. */
  async stop(): Promise<void> {
    await this.#end(() => {
      if (process.platform !== 'win32') this.#server.kill('SIGINT')
      else spawnSync(this.#pgCtl, ['stop', '-D', join(this.folder, 'data'), '-m', 'fast', '-s'])
    })
  }

  /** As in a power cut: every process of the server is killed on the spot. For tests. */
  async crash(): Promise<void> {
    // The main process alone would not do: a session would answer until it noticed that it is alone.
    const { rows } = await this.#owner.query<{ pid: number }>('select pid from pg_stat_activity')
    await this.#end(() => {
      this.#server.kill('SIGKILL')
      for (const { pid } of rows) killIfThere(pid)
    })
  }

  /** Removes the folder of a stopped server with all its data. For tests. */
  remove(): void {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 })
  }

  async #end(ask: () => void): Promise<void> {
    this.#guard?.release()
    const gone = exited(this.#server)
    ask()
    if (!(await within(gone, STOP_PATIENCE_MS))) {
      this.#server.kill('SIGQUIT')
      if (!(await within(gone, STOP_PATIENCE_MS))) this.#server.kill('SIGKILL')
      await gone
    }
    await this.#owner.end().catch(() => {})
  }
}

interface Started {
  readonly port: number
  readonly folder: string
  readonly server: ChildProcess
  readonly urlAt: (port: number, database?: string) => string
  readonly owner: pg.Client
  readonly guard: Guard | null
  readonly pgCtl: string
}

const SUPERUSER = 'regie'

const readPassword = (folder: string): string => readFileSync(join(folder, 'password'), 'utf8').trim()

const urlOf = (password: string, port: number, database = 'postgres'): string =>
  `postgresql://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`

const MOST_START_ATTEMPTS = 8
const STOP_PATIENCE_MS = 10_000
const START_PATIENCE_MS = 60_000

/** Makes the data folder elsewhere and moves it into place whole, so that an interrupted start leaves no half one. */
function initialise(programs: Binaries, folder: string, account: Account | undefined): void {
  const making = `${folder}.${process.pid}`
  const data = join(making, 'data')
  const password = join(making, 'password')
  rmSync(making, { recursive: true, force: true })
  mkdirSync(data, { recursive: true })
  writeFileSync(password, `${randomBytes(24).toString('base64url')}\n`, { mode: 0o600 })
  if (account !== undefined) for (const path of [data, password]) chownSync(path, account.uid, account.gid)
  const run = spawnSync(
    programs.initdb,
    [
      ...['-D', data, '-U', SUPERUSER, '--auth=scram-sha-256', `--pwfile=${password}`, '--encoding=UTF8'],
      // The built-in provider sorts and folds case alike on every machine.
      ...['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--no-sync', '--no-instructions'],
    ],
    { encoding: 'utf8', cwd: making, env: { ...process.env, LC_ALL: 'C' }, ...account },
  )
  if (run.status !== 0) {
    rmSync(making, { recursive: true, force: true })
    throw new StartupError(
      `The data folder of the embedded PostgreSQL, ${folder}, cannot be made.`,
      (run.error?.message ?? run.stderr.trim()) || `initdb ended with ${run.status ?? run.signal}.`,
      /could not look up effective user/.test(run.stderr)
        ? 'Give this user id a name (a line in /etc/passwd), or set DATABASE_URL to a PostgreSQL of your own.'
        : 'Check free space and rights there, or set DATABASE_URL to a PostgreSQL of your own.',
    )
  }
  moveInto(making, folder)
}

function refuseOtherVersion(programs: Binaries, data: string, account: Account | undefined): void {
  const found = readFileSync(join(data, 'PG_VERSION'), 'utf8').trim()
  const { stdout } = spawnSync(programs.postgres, ['--version'], { encoding: 'utf8', ...account })
  const major = /(\d+)/.exec(stdout)?.[1]
  if (major === undefined || found === major) return
  throw new StartupError(
    `The data folder ${data} cannot be opened.`,
    `PostgreSQL ${found} made it and the embedded server is PostgreSQL ${major}.`,
    'Move the folder away to begin anew, or carry it over with pg_dump of the old version.',
  )
}

function launch(
  programs: Binaries,
  folder: string,
  account: Account | undefined,
  port: number,
  settings: Readonly<Record<string, string>>,
): ChildProcess {
  const data = join(folder, 'data')
  const all = { ...USUAL_SETTINGS, ...settings }
  const log = openSync(join(folder, 'postgres.log'), 'w', 0o600)
  const server = spawn(
    programs.postgres,
    ['-D', data, '-p', String(port), ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    {
      stdio: ['ignore', log, log],
      // A session of its own: Ctrl-C in the terminal must reach Regie first, which drains and then stops it.
      detached: process.platform !== 'win32',
      cwd: data,
      env: { ...process.env, LC_ALL: 'C' },
      ...account,
    },
  )
  closeSync(log)
  server.on('error', () => {})
  server.unref()
  return server
}

const USUAL_SETTINGS = {
  listen_addresses: '127.0.0.1',
  // A socket's path may have 107 bytes only, which a project's folder easily exceeds.
  unix_socket_directories: '',
  timezone: 'UTC',
  log_timezone: 'UTC',
  max_connections: '100',
  // Each job leaves two dead rows behind: in the standard minute between two looks a busy engine makes millions.
  autovacuum_naptime: '5s',
}

async function becameReady(server: ChildProcess, data: string): Promise<boolean> {
  const until = performance.now() + START_PATIENCE_MS
  while (performance.now() < until) {
    if (server.pid === undefined || server.exitCode !== null || server.signalCode !== null) return false
    const state = readPostmaster(data)
    if (state?.pid === server.pid && state.ready) return true
    await pause(5)
  }
  server.kill('SIGINT')
  return false
}

function didNotStart(folder: string, port: number | undefined): { error: StartupError; portIsTaken: boolean } {
  const file = join(folder, 'postgres.log')
  const log = readFileSync(file, 'utf8').trim()
  const portIsTaken = port !== undefined && /could not bind/.test(log)
  const error = portIsTaken
    ? new StartupError(
        `The embedded PostgreSQL cannot listen on port ${port}.`,
        'Another program uses it.',
        'Stop that program or choose another port.',
      )
    : new StartupError(
        'The embedded PostgreSQL did not start.',
        `Its last words: ${log.split('\n').slice(-2).join(' ')}`,
        `Read ${file}, or set DATABASE_URL to a PostgreSQL of your own.`,
      )
  return { error, portIsTaken }
}

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', resolve)
  })
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended by itself.
  }
}

const exited = (child: ChildProcess): Promise<void> =>
  child.exitCode !== null || child.signalCode !== null
    ? Promise.resolve()
    : new Promise((resolve) => void child.once('exit', () => resolve()))

async function within(event: Promise<void>, ms: number): Promise<boolean> {
  const tooLate = new AbortController()
  const lapsed = pause(ms, false, { signal: tooLate.signal }).catch(() => false)
  const came = await Promise.race([event.then(() => true), lapsed])
  tooLate.abort()
  return came
}
