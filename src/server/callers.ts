import type { Queryable } from '../database/index.ts'
import { apiError } from '../schema/errors/index.ts'
import {
  admit,
  KeysUnavailable,
  OPERATOR,
  TokenRefused,
  type Identity,
  type Operator,
  type VerifyToken,
  type Viewer,
} from '../viewer/index.ts'

/** The holder of a token, or nobody. */
export interface Caller {
  readonly viewer: Viewer | null
  readonly operator: Operator | null
}

export const NOBODY: Caller = { viewer: null, operator: null }

/**
 * Says who sends an `Authorization` header; absent means nobody.
 * @throws GraphQLError UNAUTHENTICATED, or SERVICE_UNAVAILABLE when that cannot be found out now
 */
export type Authenticate = (authorization: string | undefined, correlationId: string) => Promise<Caller>

/** @param database where memberships are filed and read */
export function authenticating(verify: VerifyToken, database: Queryable): Authenticate {
  return async (authorization, correlationId) => {
    if (authorization === undefined) return NOBODY
    try {
      return await callerOf(bearer(authorization), correlationId)
    } catch (error) {
      if (error instanceof TokenRefused) throw apiError('UNAUTHENTICATED', error.message)
      if (error instanceof KeysUnavailable) throw apiError('SERVICE_UNAVAILABLE', error.message)
      throw error
    }
  }

  async function callerOf(token: string, correlationId: string): Promise<Caller> {
    const claims = await verify(token)
    const identity = {
      subject: claims.subject,
      tokenIssuedAt: claims.issuedAt,
      tokenExpiresAt: claims.expiresAt,
      correlationId,
    }
    if (claims.tenantId !== null) {
      // Of the newest token: an older one must not keep what was taken away, an operator's rights included.
      const roles = await admit(database, claims.tenantId, claims)
      const viewer = { ...identity, roles, tenantId: claims.tenantId }
      return { viewer, operator: operatorOf(identity, roles) }
    }
    const operator = operatorOf(identity, claims.roles)
    if (operator === null) throw new TokenRefused('The token names no tenant, and only an operator needs none.')
    return { viewer: null, operator }
  }
}

const operatorOf = (identity: Omit<Identity, 'roles'>, roles: readonly string[]): Operator | null =>
  roles.includes(OPERATOR) ? { ...identity, roles } : null

function bearer(authorization: string): string {
  const match = /^Bearer +([^\s]+)$/i.exec(authorization)
  if (match === null) throw new TokenRefused('The Authorization header must be "Bearer <token>".')
  return match[1]!
}

/** What the caller's token says of itself; null for nobody. */
export const identityOf = (caller: Caller): Identity | null => caller.viewer ?? caller.operator
