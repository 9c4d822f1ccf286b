import { ResolutionsInvalidError, type ResolutionProblem } from '../../domain/organisation/index.ts'
import {
  ConflictError,
  ForbiddenError,
  IdempotencyKeyReusedError,
  InvalidTransitionError,
  NotFoundError,
  UserError,
} from '../../errors/index.ts'
import { ERROR_CODES } from '../error-codes.ts'
import { masked, type Masking } from '../masking.ts'
import { BodyRefused } from '../request-body.ts'

/** An error as REST shows it: RFC 9457, with our code beside it. */
export interface Problem {
  /** Stands for the code, as a name and not as an address. */
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  /** As in GraphQL: `orgmodel.version.no_draft_to_submit_resolutions`, or of the closed list. */
  readonly code: string
  readonly requestId: string
  /** JSON pointer into the request, when it is about one place. */
  readonly pointer?: string
  /** What is wrong with each item, when several may be. */
  readonly errors?: readonly {
    readonly index: number
    readonly pointer: string
    readonly code: string
    readonly detail: string
  }[]
}

/** The request is refused before it reaches its route's work. */
export class RequestRefused extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.name = 'RequestRefused'
    this.status = status
    this.code = code
  }
}

/** Conflicts that the seed of the draft resolutions answers with 422. */
const UNPROCESSABLE: ReadonlySet<string> = new Set([
  'orgmodel.version.no_draft_to_submit_resolutions',
  'orgmodel.version.blocking_issues_not_resolved',
])

const TITLES: Readonly<Record<number, string>> = {
  400: 'The request cannot be read.',
  401: 'The request needs a valid token.',
  403: 'This is not allowed.',
  404: 'There is no such thing.',
  405: 'There is no such method here.',
  408: 'The request came too slowly.',
  409: 'The state does not allow this now.',
  413: 'The request is too large.',
  415: 'The request is of another kind than JSON.',
  422: 'The request asks for what cannot be done.',
  429: 'There are too many requests.',
  503: 'The service is not there for a moment.',
  504: 'The answer took too long.',
}

/** What a client is shown of an error; what it cannot act on is masked as in GraphQL, and logged. */
export function problemOf(error: unknown, masking: Masking): Problem {
  if (error instanceof UserError) return ofUser(error, masking.correlationId)
  if (error instanceof RequestRefused) return problem(error.status, error.code, error.message, masking.correlationId)
  if (error instanceof BodyRefused) return problem(error.status, 'BAD_USER_INPUT', error.message, masking.correlationId)
  const { message, extensions } = masked(error, masking)
  const code = extensions['code'] as keyof typeof ERROR_CODES
  return problem(ERROR_CODES[code].status, code, message, masking.correlationId)
}

function ofUser(error: UserError, requestId: string): Problem {
  const shown = problem(statusOf(error), error.code, error.message, requestId)
  if (error instanceof ResolutionsInvalidError) return { ...shown, errors: error.items.map(itemOf) }
  return error.path === null ? shown : { ...shown, pointer: pointerTo(error.path) }
}

const itemOf = ({ index, path, code, message }: ResolutionProblem) => ({
  index,
  pointer: pointerTo(path),
  code,
  detail: message,
})

function problem(status: number, code: string, detail: string, requestId: string): Problem {
  return {
    type: `urn:regie:error:${code}`,
    title: TITLES[status] ?? 'Something went wrong on our side.',
    status,
    detail,
    code,
    requestId,
  }
}

function statusOf(error: UserError): number {
  if (UNPROCESSABLE.has(error.code)) return 422
  if (error instanceof ForbiddenError) return 403
  if (error instanceof NotFoundError) return 404
  return error instanceof ConflictError ||
    error instanceof IdempotencyKeyReusedError ||
    error instanceof InvalidTransitionError
    ? 409
    : 422
}

/** RFC 6901. */
const pointerTo = (path: readonly string[]): string =>
  path.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
