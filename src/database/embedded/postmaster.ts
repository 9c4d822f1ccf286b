import { spawnSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { StartupError } from '../startup-error.ts'
import type { Account } from './account.ts'

/** What a running server says of itself in `postmaster.pid`. */
export interface Postmaster {
  readonly pid: number
  readonly port: number
  readonly ready: boolean
}

/** Reads `postmaster.pid`; null when there is none or it is being written. */
export function readPostmaster(data: string): Postmaster | null {
  let lines: string[]
  try {
    lines = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')
  } catch {
    return null
  }
  const pid = Number(lines[0])
  if (!Number.isInteger(pid) || pid <= 0) return null
  return { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' }
}

const OWNER = 'regie-owner '

/**
 * Holds one session for as long as this process lives: the sign by which another process tells a server in use
 * from one that was left behind. A process id in a file would not do, since ids are used again.
 */
export async function takeOwnership(url: string): Promise<pg.Client> {
  const owner = new pg.Client({ connectionString: url, application_name: `${OWNER}${process.pid}` })
  // A server that goes away is noticed by everybody who uses it; this session has nothing to add.
  owner.on('error', () => {})
  await owner.connect()
  ;(owner as pg.Client & { unref(): void }).unref() // left out of @types/pg
  return owner
}

/**
 * Makes sure that no server runs on the data folder: one left behind by a killed process is stopped, the file
 * of one that is dead is removed, and one that another process uses is respected. Throws `StartupError` then.
 */
export async function freeDataFolder(
  data: string,
  pgCtl: string,
  account: Account | undefined,
  urlAt: (port: number) => string,
): Promise<void> {
  const found = readPostmaster(data)
  if (found === null) return
  if (!isServerOf(found.pid, data)) {
    rmSync(join(data, 'postmaster.pid'), { force: true })
    return
  }
  const owner = await ownerOf(data, urlAt)
  if (owner !== null) {
    throw new StartupError(
      'The embedded PostgreSQL of this folder is already in use.',
      `Regie's process ${owner} has started it.`,
      'Stop that process first; to run several on one database, give all of them the same DATABASE_URL.',
    )
  }
  const stop = spawnSync(pgCtl, ['stop', '-D', data, '-m', 'fast', '-w', '-t', '30', '-s'], {
    encoding: 'utf8',
    cwd: data,
    ...account,
  })
  if (stop.status !== 0 && readPostmaster(data) !== null) {
    throw new StartupError(
      'A PostgreSQL server that an earlier run left behind does not stop.',
      `It is process ${found.pid}. ${stop.stderr.trim()}`,
      `End it with: kill ${found.pid}`,
    )
  }
}

/** The id is alive and belongs to a server of this folder, not to a stranger that got the same number. */
export function isServerOf(pid: number, data: string): boolean {
  try {
    process.kill(pid, 0)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  if (process.platform === 'win32') return true
  if (process.platform === 'linux') {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(data)
    } catch {
      return false
    }
  }
  return spawnSync('ps', ['-o', 'command=', '-p', String(pid)], { encoding: 'utf8' }).stdout.includes(data)
}

/** Process id of the server's owner; null when there is none, also a moment later. */
async function ownerOf(data: string, urlAt: (port: number) => string): Promise<string | null> {
  const until = performance.now() + OWNER_APPEARS_WITHIN_MS
  do {
    const running = readPostmaster(data)
    if (running === null) return null
    const client = new pg.Client({ connectionString: urlAt(running.port), connectionTimeoutMillis: 2_000 })
    client.on('error', () => {})
    try {
      await client.connect()
      const { rows } = await client.query<{ pid: string }>(
        `select substr(application_name, ${OWNER.length + 1}) as pid from pg_stat_activity
          where application_name like '${OWNER}%' limit 1`,
      )
      if (rows[0] !== undefined) return rows[0].pid
    } catch {
      // Starting up, shutting down, or gone: look again.
    } finally {
      await client.end().catch(() => {})
    }
    await pause(100)
  } while (performance.now() < until)
  return null
}

// Between a server's start and its owner's session lie a few milliseconds, on a busy machine more.
const OWNER_APPEARS_WITHIN_MS = 1_500
