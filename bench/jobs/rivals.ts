import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { projectFolder } from '../../src/database/index.ts'

export type Rival = 'graphile-worker' | 'pg-boss'

const SOURCE = join(projectFolder(), 'bench', 'rivals')
/** Not below bench/: what is installed there is no source of ours. */
const INSTALLED = join(projectFolder(), '.data', 'bench-rivals')

/** Installs the rivals when they are not there yet; they are no part of the project's own packages. */
export function installRivals(): void {
  mkdirSync(INSTALLED, { recursive: true })
  cpSync(SOURCE, INSTALLED, { recursive: true })
  if (existsSync(join(INSTALLED, 'node_modules', '.package-lock.json'))) return
  console.log('Installing the rivals, once.')
  const npm = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: INSTALLED,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (npm.status !== 0) throw new Error('The rivals could not be installed; npm has said why.')
}

/** A rival's program in a process of its own, which answers in lines of JSON. */
export class RivalProcess {
  readonly #child
  readonly #lines: AsyncIterator<string>

  constructor(rival: Rival, ...args: readonly string[]) {
    this.#child = spawn(process.execPath, [join(INSTALLED, `${rival}.mjs`), ...args], {
      cwd: INSTALLED,
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]()
  }

  async answer<Answer>(): Promise<Answer> {
    const { value, done } = await this.#lines.next()
    if (done === true) throw new Error('A rival ended without an answer; it has said why.')
    return JSON.parse(value as string) as Answer
  }

  /** Ends its input, by which one that serves knows that it is over. */
  finish(): void {
    this.#child.stdin.end()
  }

  async ended(): Promise<void> {
    if (this.#child.exitCode === null) await once(this.#child, 'exit')
  }
}

/** Runs a rival to its end; answers with what it printed. */
export async function runRival<Answer>(rival: Rival, ...args: readonly string[]): Promise<Answer> {
  const running = new RivalProcess(rival, ...args)
  const answer = await running.answer<Answer>()
  await running.ended()
  return answer
}
