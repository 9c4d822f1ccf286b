import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { connect } from '../../src/database/connect.ts'
import { EmbeddedPostgres } from '../../src/database/embedded/index.ts'
import { migrate } from '../../src/database/migrations/index.ts'
import { projectFolder } from '../../src/database/project-folder.ts'
import { databaseAt, TEST_SETTINGS } from './server-settings.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Connection string of the run's server, at a database from which others can be made. */
    serverUrl: string
    /** The migrated database that `useDatabase` clones. */
    template: string
  }
}

/**
 * Once per run: a PostgreSQL server (that of DATABASE_URL when set, whose user must then be allowed to make
 * databases) and on it a template database with all migrations.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const run = `${process.pid}_${randomBytes(3).toString('hex')}`
  const given = process.env['DATABASE_URL']
  const server =
    given === undefined || given === ''
      ? await EmbeddedPostgres.start({ project: projectFolder(), name: `test-${run}`, settings: TEST_SETTINGS })
      : null
  if (server !== null) sweep(dirname(server.folder))
  const serverUrl = server?.url() ?? (given as string)
  const template = `regie_template_${run}`
  const admin = await connect(serverUrl, 'regie test')
  await admin.query(`create database ${template}`)
  await admin.end()
  await migrate(databaseAt(serverUrl, template))
  project.provide('serverUrl', serverUrl)
  project.provide('template', template)
  return async () => {
    if (server !== null) {
      await server.stop()
      server.remove()
    } else {
      const last = await connect(serverUrl, 'regie test')
      await last.query(`drop database if exists ${template} with (force)`)
      await last.end()
    }
  }
}

/** Folders of earlier runs that were killed. */
function sweep(place: string): void {
  for (const name of readdirSync(place)) {
    const pid = Number(/^test-(\d+)_/.exec(name)?.[1])
    if (!pid) continue
    try {
      process.kill(pid, 0)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') continue
      rmSync(join(place, name), { recursive: true, force: true })
    }
  }
}
