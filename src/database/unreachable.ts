import { sqlState } from './sql-state.ts'

/**
 * Whether the database was not reached, went away, or had no connection to give: nothing is wrong with what was
 * sent. Only some of these errors come from PostgreSQL and have an SQLSTATE; the others are the socket's, the
 * pool's and Prisma's own.
 */
export function isUnreachable(error: unknown): boolean {
  const state = sqlState(error)
  // 08P01 is a protocol violation, which trying again does not mend.
  if (state !== null) return /^(08(?!P01)|53300|57P0)/.test(state)
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  return (typeof code === 'string' && CODES.test(code)) || (error instanceof Error && OF_PG.test(String(message)))
}

// P1001 not reachable, P1017 closed, P2024 and P2028 no connection, or no transaction, within the time allowed.
const CODES = /^(ECONN|EPIPE$|ETIMEDOUT$|ENOTFOUND$|EAI_AGAIN$|EHOSTUNREACH$|P1001$|P1017$|P2024$|P2028$)/
// Neither `pg` nor its pool gives these a code.
const OF_PG =
  /^(Connection terminated|timeout exceeded when trying to connect|Client (was closed|has encountered a connection error) and is not queryable)/
