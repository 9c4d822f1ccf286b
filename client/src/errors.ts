/** One error of a response, as GraphQL over HTTP has it. */
export interface ResponseError {
  readonly message: string
  readonly path?: readonly (string | number)[]
  readonly extensions?: {
    readonly code?: string
    readonly requestId?: string
    readonly retryable?: boolean
    readonly cursor?: string
    readonly [name: string]: unknown
  }
}

/**
 * The server refused a request or could not carry it out. What a caller of a mutation can act on is no such error
 * but a member of the mutation's result; see `unwrap`.
 */
export class RegieError extends Error {
  /** One of the closed list in docs/api.md, or `NETWORK` when no answer came at all. */
  readonly code: string
  /** Under which the server has recorded it. */
  readonly requestId: string | null
  /** The same request may succeed later. */
  readonly retryable: boolean
  /** Where a stream that was cut off can go on. */
  readonly cursor: string | null
  readonly errors: readonly ResponseError[]
  /** What of the answer came all the same: a mutation before the one that failed is committed. */
  readonly data: unknown

  constructor(errors: readonly ResponseError[], options: { data?: unknown; cause?: unknown } = {}) {
    const [first] = errors
    super(
      first?.message ?? 'The server gave an answer that is none.',
      'cause' in options ? { cause: options.cause } : {},
    )
    this.name = 'RegieError'
    const { code, requestId, retryable, cursor } = first?.extensions ?? {}
    this.code = code ?? 'INTERNAL_SERVER_ERROR'
    this.requestId = requestId ?? null
    this.retryable = retryable ?? false
    this.cursor = cursor ?? null
    this.errors = errors
    this.data = options.data ?? null
  }
}

/** No answer came: the connection could not be made, or broke. */
export const networkError = (message: string, cause?: unknown): RegieError =>
  new RegieError([{ message, extensions: { code: 'NETWORK', retryable: true } }], { cause })
