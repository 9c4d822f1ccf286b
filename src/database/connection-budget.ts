import type pg from 'pg'
import { connect } from './connect.ts'
import { StartupError } from './startup-error.ts'

/** What one process may open at most, by purpose: `{ 'requests': 20, '4 worker threads × 5': 20, 'tail': 1 }`. */
export type ConnectionPlan = Readonly<Record<string, number>>

export interface ConnectionBudget {
  /** The sum of the plan. */
  readonly planned: number
  /** What the server lets this user open, all its processes together. */
  readonly allowed: number
  /** One line to print at start. */
  readonly summary: string
}

/**
 * Compares what this process will open at most with what the server allows. Throws `StartupError` when that
 * cannot fit: it would show as time-outs under load otherwise. Behind a pooler the number is the pooler's business.
 */
export async function checkConnections(url: string, plan: ConnectionPlan): Promise<ConnectionBudget> {
  const client = await connect(url, 'regie start')
  try {
    const { allowed, cause } = await allowance(client)
    const planned = Object.values(plan).reduce((sum, count) => sum + count, 0)
    const parts = Object.entries(plan)
      .map(([purpose, count]) => `${purpose} ${count}`)
      .join(', ')
    const summary = `${planned} of ${allowed} database connections (${parts})`
    if (planned <= allowed) return { planned, allowed, summary }
    throw new StartupError(
      'The database does not allow as many connections as this process wants.',
      `It wants ${planned} (${parts}) and ${cause} leaves ${allowed}.`,
      'Lower the number of threads or connections in the configuration, or raise that limit.',
    )
  } finally {
    await client.end()
  }
}

/** The tightest of the limits of server, database and role. */
async function allowance(client: pg.Client): Promise<{ allowed: number; cause: string }> {
  const { rows } = await client.query<{ allowed: number; cause: string }>(
    `select allowed::int, cause
       from (select current_setting('max_connections')::int
                  - current_setting('superuser_reserved_connections')::int
                  - coalesce(current_setting('reserved_connections', true)::int, 0), 'max_connections'
             union all
             select datconnlimit, 'the limit of the database' from pg_database
              where datname = current_database() and datconnlimit >= 0
             union all
             select rolconnlimit, 'the limit of the role' from pg_roles
              where rolname = current_user and rolconnlimit >= 0) as limits (allowed, cause)
      order by allowed limit 1`,
  )
  return rows[0] as { allowed: number; cause: string }
}
