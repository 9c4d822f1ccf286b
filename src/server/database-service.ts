import {
  checkConnections,
  Database,
  EmbeddedPostgres,
  migrate,
  projectFolder,
  requireMigrated,
} from '../database/index.ts'
import type { Configuration } from './configuration.ts'
import type { Logger } from './log.ts'
import type { Teardown } from './teardown.ts'

/** The database, migrated and within its connections. */
export interface OpenedDatabase {
  readonly url: string
  readonly database: Database
}

/** @throws StartupError */
export async function openDatabase(
  configuration: Configuration,
  threads: number,
  log: Logger,
  teardown: Teardown,
): Promise<OpenedDatabase> {
  const url = configuration.databaseUrl ?? (await startEmbedded(configuration, teardown))
  if (configuration.migrate) {
    const { applied, total } = await migrate(url)
    log.info({ applied: applied.length, total }, 'database migrated')
  } else await requireMigrated(url)
  const { summary } = await checkConnections(url, planOf(configuration, threads))
  log.info(`uses up to ${summary}`)
  let closing = false
  const database = new Database({
    url,
    max: configuration.connections,
    applicationName: 'regie server',
    preparedStatements: configuration.preparedStatements,
    // A pool counts as closed before its sockets are: an embedded server that stops next may cut one off first.
    onConnectionLost: (error) => {
      if (!closing) log.warn({ err: error }, 'a database connection was lost')
    },
  })
  teardown.add('database', () => {
    closing = true
    return database.close()
  })
  return { url, database }
}

async function startEmbedded({ embeddedName }: Configuration, teardown: Teardown): Promise<string> {
  const server = await EmbeddedPostgres.start({ project: projectFolder(), name: embeddedName })
  teardown.add('embedded PostgreSQL', () => server.stop())
  return server.url()
}

const planOf = ({ connections, connectionsPerThread }: Configuration, threads: number) => ({
  // The event feed reads, and with NOTIFY listens, through these too.
  'requests and feed': connections,
  ...(threads === 0 ? {} : { 'worker threads': threads * connectionsPerThread, 'leases and hints': 2 }),
})
