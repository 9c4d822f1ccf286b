import pg from 'pg'
import { sqlState } from './sql-state.ts'
import { StartupError } from './startup-error.ts'

/** Opens one connection, or throws a `StartupError` that says what stands in the way. */
export async function connect(url: string, applicationName: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: applicationName,
    connectionTimeoutMillis: 10_000,
  })
  client.on('error', () => {})
  try {
    await client.connect()
  } catch (error) {
    throw unreachable(url, error)
  }
  const { rows } = await client.query<{ version: string; number: number }>(
    `select current_setting('server_version') as version, current_setting('server_version_num')::int as number`,
  )
  const [server] = rows
  if (server !== undefined && server.number < OLDEST_VERSION) {
    await client.end()
    throw new StartupError(
      'This PostgreSQL is too old.',
      `${addressOf(url)} runs version ${server.version} and Regie needs 15 or newer.`,
      'Point DATABASE_URL to a newer server, or leave it unset to use the embedded one.',
    )
  }
  return client
}

const OLDEST_VERSION = 150_000

function unreachable(url: string, cause: unknown): StartupError {
  const { code, message } = cause as NodeJS.ErrnoException
  const why =
    code === 'ECONNREFUSED'
      ? 'Nothing listens there.'
      : code === 'ENOTFOUND' || code === 'EAI_AGAIN'
        ? 'That host name is not known.'
        : (WHY[sqlState(cause) ?? ''] ?? `${message}.`)
  return new StartupError(
    `The database at ${addressOf(url)} cannot be reached.`,
    why,
    'Check DATABASE_URL and that the server runs; without DATABASE_URL an embedded PostgreSQL is used.',
    { cause },
  )
}

const WHY: Record<string, string> = {
  '28000': 'The server does not let this user in.',
  '28P01': 'The user or the password is wrong.',
  '3D000': 'The server has no database of that name; make it with createdb.',
  '53300': 'The server has no connection left.',
  '57P03': 'The server is starting up or shutting down.',
}

/** Host, port and database of a connection string, without the user's name and password. */
export function addressOf(url: string): string {
  try {
    const { host, pathname } = new URL(url)
    return `${host}${pathname}`
  } catch {
    return 'the address in DATABASE_URL'
  }
}
