/**
 * The five characters with which PostgreSQL says what went wrong, wherever the driver has put them; null when
 * the error did not come from PostgreSQL. Prisma's own P-codes are never read: a deadlock arrives as P2034 or
 * P2010 depending on the statement, and an error at COMMIT arrives bare.
 */
export function sqlState(error: unknown): string | null {
  for (const path of PLACES) {
    let value: unknown = error
    for (const key of path)
      value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined
    if (typeof value === 'string' && SQLSTATE.test(value)) return value
  }
  return null
}

const PLACES = [['meta', 'driverAdapterError', 'cause', 'originalCode'], ['cause', 'originalCode'], ['code']]

// Of the same five characters are Prisma's codes (P1001 … P6010; PL/pgSQL's own class is P0) and some of Node's
// (EPIPE; no class of SQLSTATE begins with E).
const SQLSTATE = /^(?!P[1-9]|E)[0-9A-Z]{5}$/

/** Another transaction was in the way; running the same body again is right. */
export const isSerializationConflict = (error: unknown): boolean => ['40001', '40P01'].includes(sqlState(error) ?? '')

/** A lock was not given within `lock_timeout`. */
export const isLockTimeout = (error: unknown): boolean => sqlState(error) === '55P03'
