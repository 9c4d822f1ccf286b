import { GraphQLError } from 'graphql'
import { isUnreachable, sqlState } from '../../database/index.ts'
import { UserError } from '../../errors/index.ts'
import { apiError, isApiErrorCode } from './api-error.ts'

/**
 * The coded form of an error that is expected though no result union holds it: a domain's refusal of a query,
 * a database that cannot be waited for. Null for everything else, which stays unexpected and is masked.
 */
export function asApiError(error: unknown): GraphQLError | null {
  if (error instanceof GraphQLError) return isApiErrorCode(error.extensions['code']) ? error : null
  if (error instanceof UserError) {
    // A domain's error may name one of these codes itself: FORBIDDEN, CURSOR_EXPIRED.
    if (isApiErrorCode(error.code)) return apiError(error.code, error.message)
    const inputPath = error.path === null ? {} : { inputPath: error.path }
    return apiError('BAD_USER_INPUT', error.message, { reason: error.code, ...inputPath })
  }
  const state = sqlState(error)
  if (state !== null && WAITED_TOO_LONG.has(state)) {
    return apiError('TIMEOUT', 'The database did not answer within the time allowed. Nothing was changed; try again.')
  }
  if (isUnreachable(error)) {
    return apiError('SERVICE_UNAVAILABLE', 'The database cannot be reached now. Try again in a moment.')
  }
  return null
}

/** lock_not_available and query_canceled (statement_timeout). */
const WAITED_TOO_LONG: ReadonlySet<string> = new Set(['55P03', '57014'])
