import type { ApiErrorCode } from '../schema/errors/index.ts'

/**
 * How each code of the closed list travels. `status` is that of a refusal of the whole request; `spec` says that
 * a client which asked for `application/json` gets 200 all the same, as GraphQL over HTTP wants for errors in
 * the operation itself. A test compares the list with docs/error-codes.md.
 */
export const ERROR_CODES: Readonly<Record<ApiErrorCode, { status: number; spec?: true; retryable: boolean }>> = {
  UNAUTHENTICATED: { status: 401, retryable: false },
  FORBIDDEN: { status: 403, retryable: false },
  BAD_USER_INPUT: { status: 400, spec: true, retryable: false },
  GRAPHQL_PARSE_FAILED: { status: 400, spec: true, retryable: false },
  GRAPHQL_VALIDATION_FAILED: { status: 400, spec: true, retryable: false },
  PERSISTED_OPERATION_NOT_FOUND: { status: 400, spec: true, retryable: false },
  QUERY_TOO_COMPLEX: { status: 400, spec: true, retryable: false },
  RATE_LIMITED: { status: 429, retryable: true },
  CURSOR_EXPIRED: { status: 410, retryable: false },
  SLOW_CONSUMER: { status: 503, retryable: true },
  TIMEOUT: { status: 504, retryable: true },
  SERVICE_UNAVAILABLE: { status: 503, retryable: true },
  INTERNAL_SERVER_ERROR: { status: 500, retryable: false },
}
