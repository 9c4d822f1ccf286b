import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll } from 'vitest'
import { EmbeddedPostgres } from '../../src/database/embedded/index.ts'
import { migrate } from '../../src/database/migrations/index.ts'
import { projectFolder } from '../../src/database/project-folder.ts'
import { close, open, type TestDatabase } from './database.ts'
import { TEST_SETTINGS } from './server-settings.ts'

/** A PostgreSQL server of one test file, with a migrated database on it; usable inside hooks and tests. */
export interface TestServer extends TestDatabase {
  readonly server: EmbeddedPostgres
  /** Ordinary stop: sessions end, transactions are rolled back. */
  stop(): Promise<void>
  /** The server's main process is killed on the spot. */
  kill(): Promise<void>
  /** Starts it again on the same port, after `stop` or `kill`. */
  start(): Promise<void>
  restart(): Promise<void>
}

/**
 * Gives the test file a server of its own, always an embedded one. For tests that hold transactions open, stop
 * the server or read the watermark: the watermark is one for all databases of a server.
 */
export function useServer(settings: Readonly<Record<string, string>> = {}): TestServer {
  const options = {
    project: projectFolder(),
    name: `test-${process.pid}_${randomBytes(4).toString('hex')}`,
    settings: { ...TEST_SETTINGS, ...settings },
  }
  let server: EmbeddedPostgres | null = null
  let running = false
  let opened: TestDatabase | null = null

  beforeAll(async () => {
    server = await EmbeddedPostgres.start(options)
    running = true
    await migrate(server.url())
    opened = open(server.url())
  })
  afterAll(async () => {
    if (opened !== null) await close(opened)
    if (running) await server?.stop()
    server?.remove()
  })

  const present = <T>(value: T | null): T => {
    if (value === null) throw new Error('The server of a test file is there inside its hooks and tests only.')
    return value
  }
  const stop = async () => {
    await present(server).stop()
    running = false
  }
  const start = async () => {
    server = await EmbeddedPostgres.start({ ...options, port: present(server).port })
    running = true
  }
  return {
    stop,
    start,
    async kill() {
      await present(server).crash()
      running = false
    },
    async restart() {
      await stop()
      await start()
    },
    get server() {
      return present(server)
    },
    get url() {
      return present(opened).url
    },
    get database() {
      return present(opened).database
    },
    get pool() {
      return present(opened).pool
    },
  }
}
