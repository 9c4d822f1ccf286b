import { connect, Database, EmbeddedPostgres, migrate, projectFolder } from '../../src/database/index.ts'

/** The server of a run: the one of DATABASE_URL, or an embedded one with its ordinary, durable settings. */
export interface BenchServer {
  /** Made here and removed after the run: its settings may be changed. */
  readonly own: boolean
  /** A new, empty database. */
  database(): Promise<string>
  /** A new database with all migrations, and a pool on it; closed after `body`. */
  withRegie<T>(body: (database: Database, url: string) => Promise<T>): Promise<T>
}

/** Runs `body` with a server; all rivals are measured on the same one. */
export async function withServer(body: (server: BenchServer) => Promise<void>): Promise<void> {
  const given = process.env['DATABASE_URL']
  const embedded = given
    ? null
    : await EmbeddedPostgres.start({ project: projectFolder(), name: `bench-${process.pid}` })
  const root = given ?? embedded!.url()
  let made = 0
  const database = async () => {
    const name = `bench_${process.pid}_${++made}`
    await onServer(root, `create database ${name}`)
    const url = new URL(root)
    url.pathname = `/${name}`
    return url.href
  }
  try {
    await body({
      own: embedded !== null,
      database,
      async withRegie(use) {
        const url = await database()
        await migrate(url)
        const opened = new Database({ url, max: 18, applicationName: 'regie bench', preparedStatements: true })
        try {
          return await use(opened, url)
        } finally {
          await opened.close()
          await onServer(root, `drop database ${new URL(url).pathname.slice(1)} with (force)`)
        }
      },
    })
  } finally {
    await embedded?.stop()
    embedded?.remove()
  }
}

/** Not through `Database`, which refuses a server that no migration has given its settings yet. */
async function onServer(url: string, sql: string): Promise<void> {
  const admin = await connect(url, 'regie bench')
  try {
    await admin.query(sql)
  } finally {
    await admin.end()
  }
}
