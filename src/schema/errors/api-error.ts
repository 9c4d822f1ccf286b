import { GraphQLError } from 'graphql'

/**
 * The closed list of codes a top-level error can carry. What a caller of a mutation can act on is not here: it
 * is a member of that mutation's result union. docs/api.md explains each code; a test compares the two.
 */
export const API_ERROR_CODES = [
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'BAD_USER_INPUT',
  'GRAPHQL_PARSE_FAILED',
  'GRAPHQL_VALIDATION_FAILED',
  'PERSISTED_OPERATION_NOT_FOUND',
  'QUERY_TOO_COMPLEX',
  'RATE_LIMITED',
  'CURSOR_EXPIRED',
  'SLOW_CONSUMER',
  'TIMEOUT',
  'SERVICE_UNAVAILABLE',
  'INTERNAL_SERVER_ERROR',
] as const

export type ApiErrorCode = (typeof API_ERROR_CODES)[number]

/**
 * A top-level error that the client sees as it is. It never carries a cause: an error with a foreign original
 * counts as unexpected and would be masked. Whoever knows a cause logs it before throwing this.
 */
export function apiError(
  code: ApiErrorCode,
  message: string,
  extensions: Readonly<Record<string, unknown>> = {},
): GraphQLError {
  return new GraphQLError(message, { extensions: { ...extensions, code } })
}

export const isApiErrorCode = (code: unknown): code is ApiErrorCode =>
  (API_ERROR_CODES as readonly unknown[]).includes(code)
