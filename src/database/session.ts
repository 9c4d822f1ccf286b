import type pg from 'pg'
import { StartupError } from './startup-error.ts'

/**
 * How every session is set up. UTC because Prisma's adapter otherwise stores a wrong timestamptz; the time-outs
 * because one forgotten transaction holds back the event watermark for everybody.
 */
const SESSION: Readonly<Record<string, string>> = {
  timezone: 'UTC',
  statement_timeout: '30s',
  lock_timeout: '10s',
  idle_in_transaction_session_timeout: '60s',
}

/** The settings as start-up options of a connection. A pooler in transaction mode refuses or drops them. */
export const SESSION_OPTIONS = Object.entries(SESSION)
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(' ')

/**
 * Throws `StartupError` unless the session is in UTC and has all time-outs, of whatever length. Asked on each new
 * connection: some poolers drop start-up options without a word, and behind those only the role's own defaults count.
 */
export async function requireSession(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ role: string } & Record<string, string>>(
    `select current_user as role, ${Object.keys(SESSION)
      .map((name) => `current_setting('${name}') as ${name}`)
      .join(', ')}`,
  )
  const [found] = rows
  if (found === undefined) return
  const wrong = Object.keys(SESSION).filter((name) =>
    name === 'timezone' ? !/^(Etc\/)?UTC$/i.test(found[name] ?? '') : found[name] === '0',
  )
  if (wrong.length === 0) return
  const role = `"${found.role.replaceAll('"', '""')}"`
  throw new StartupError(
    'The database gives sessions that Regie cannot use.',
    `${wrong.map((name) => (name === 'timezone' ? `Its timezone is ${found[name]}` : `${name} is off`)).join(', ')}.`,
    `Run this once as an administrator and reconnect: ${wrong
      .map((name) => `alter role ${role} set ${name} = '${SESSION[name]}';`)
      .join(' ')}`,
  )
}
