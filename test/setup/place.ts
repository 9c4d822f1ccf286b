import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
} from 'node:fs'
import { join } from 'node:path'
import { projectFolder } from '../../src/database/index.ts'

/** Who runs Regie, and with which Node. */
export interface Person {
  readonly uid: number
  readonly home: string
  /** A version of the npm package `node`; left out, the Node that runs the tests. */
  readonly node?: string
}

const MADE_AGAIN = new Set(['node_modules', 'dist', '.data', '.git', 'generated', 'coverage'])

/** A folder that everybody may enter: the usual one for temporary files may be closed to other users. */
export function commonFolder(): string {
  const folder = mkdtempSync('/var/tmp/regie-setup-')
  chmodSync(folder, 0o755)
  return folder
}

/** Makes a home that belongs to the user. */
export function homeFor(uid: number, path: string, mode: number): Person {
  mkdirSync(path, { mode })
  chmodSync(path, mode)
  chownSync(path, uid, uid)
  return { uid, home: path }
}

/** A fresh copy of the project as it stands, without anything that can be made again, given to the user. */
export function freshCopy(person: Person, path: string): string {
  cpSync(projectFolder(), path, {
    recursive: true,
    filter: (source) => !MADE_AGAIN.has(source.split('/').at(-1) as string),
  })
  const give = (file: string) => {
    chownSync(file, person.uid, person.uid)
    for (const entry of readdirSync(file, { withFileTypes: true })) {
      const inner = join(file, entry.name)
      if (entry.isDirectory()) give(inner)
      else chownSync(inner, person.uid, person.uid)
    }
  }
  give(path)
  return path
}

/** Starts npm as the user, in the folder, with nothing of our own surroundings but the way to programs and registry. */
export async function startNpm(person: Person, folder: string, args: readonly string[], variables: object = {}) {
  const own = person.node === undefined ? [] : ['exec', '--yes', `--package=node@${person.node}`, '--', 'npm']
  return spawn('npm', [...own, ...args], {
    cwd: folder,
    uid: person.uid,
    gid: person.uid,
    env: {
      HOME: person.home,
      PATH: process.env['PATH'],
      npm_config_registry: process.env['npm_config_registry'] ?? (await registry()),
      ...variables,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own, as a terminal gives to each command: Ctrl-C reaches all of it.
    detached: true,
  })
}

/** Runs npm to its end. */
export async function npm(
  person: Person,
  folder: string,
  ...args: string[]
): Promise<{ code: number; output: string }> {
  const child = await startNpm(person, folder, args)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  }
  const [code] = (await once(child, 'close')) as [number | null]
  return { code: code ?? -1, output }
}

/** Command lines of the processes that work in or on the folder. Linux only. */
export function processesOf(folder: string): string[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
        return command.includes(folder) || readlinkSync(`/proc/${pid}/cwd`).startsWith(folder) ? [command] : []
      } catch {
        return []
      }
    })
}

async function registry(): Promise<string> {
  const child = spawn('npm', ['config', 'get', 'registry'], { stdio: ['ignore', 'pipe', 'ignore'] })
  let output = ''
  child.stdout.on('data', (text) => (output += String(text)))
  await once(child, 'close')
  return output.trim()
}

export const remove = (folder: string): void => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
