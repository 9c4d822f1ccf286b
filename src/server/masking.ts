import { GraphQLError } from 'graphql'
import { apiError, asApiError, isApiErrorCode, type ApiErrorCode } from '../schema/errors/index.ts'
import { ERROR_CODES } from './error-codes.ts'
import type { Logger } from './log.ts'

/** What the masking of one operation's errors needs. */
export interface Masking {
  readonly correlationId: string
  readonly log: Logger
}

/**
 * The one place where an error becomes what a client may see, for every transport: a refusal keeps its message
 * and its code of the closed list; everything else becomes INTERNAL_SERVER_ERROR, and its cause goes to the log
 * under the same request id. The result is new: of its source it carries no `originalError`, no node and no
 * extension that is not named here.
 */
export function masked(error: unknown, masking: Masking): GraphQLError {
  const outer = error instanceof GraphQLError ? error : null
  const source = originOf(error)
  const shown = refusalOf(source)
  if (shown === null) masking.log.error({ err: source, path: outer?.path?.join('.') }, 'unexpected error')
  const { message, extensions } = shown ?? unexpected()
  const code = extensions['code'] as ApiErrorCode
  return new GraphQLError(message, {
    path: outer?.path ?? null,
    source: outer?.source ?? null,
    positions: outer?.positions ?? null,
    extensions: {
      code,
      requestId: masking.correlationId,
      retryable: ERROR_CODES[code].retryable,
      ...passedOn(extensions),
    },
  })
}

const unexpected = (): GraphQLError =>
  apiError('INTERNAL_SERVER_ERROR', 'Something went wrong on our side. Tell your operator the request id.')

// graphql-js wraps whatever a resolver throws; a GraphQLError inside one is the resolver's own.
function originOf(error: unknown): unknown {
  let source = error
  while (source instanceof GraphQLError && source.originalError != null) source = source.originalError
  return source
}

function refusalOf(source: unknown): GraphQLError | null {
  if (source instanceof GraphQLError) {
    const code = source.extensions['code'] ?? 'BAD_USER_INPUT'
    const known = OF_LIBRARIES.get(code) ?? code
    return isApiErrorCode(known) ? apiError(known, source.message, source.extensions) : null
  }
  return streamEnding(source) ?? asApiError(source)
}

// Yoga's own codes, for requests that it refuses before there is an operation.
const OF_LIBRARIES = new Map<unknown, ApiErrorCode>([
  ['BAD_REQUEST', 'BAD_USER_INPUT'],
  ['OPERATION_RESOLUTION_FAILURE', 'BAD_USER_INPUT'],
])

// How an event stream ends has a code of the closed list; the stream itself knows nothing of GraphQL.
function streamEnding(source: unknown): GraphQLError | null {
  if (!(source instanceof Error)) return null
  const { code, cursor } = source as { code?: unknown; cursor?: unknown }
  if (code !== 'CURSOR_EXPIRED' && code !== 'SLOW_CONSUMER') return null
  return apiError(code, source.message, { cursor })
}

const PASSED_ON = ['cursor', 'reason', 'inputPath'] as const

const passedOn = (extensions: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(PASSED_ON.flatMap((key) => (extensions[key] === undefined ? [] : [[key, extensions[key]]])))
