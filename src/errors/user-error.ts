/**
 * An outcome the caller can act on: it reaches the API as a member of a mutation's result union, never as a
 * masked error. `code` is stable and dotted (`orgmodel.version.draft_already_exists`) or one of the general
 * codes below; `message` is English, calm and free of personal data; `path` points into the caller's input.
 */
export abstract class UserError extends Error {
  abstract readonly code: string
  readonly path: readonly string[] | null

  constructor(message: string, path: readonly string[] | null = null) {
    super(message)
    this.name = new.target.name
    this.path = path
  }
}

/** Input that has the right shape for GraphQL but breaks a rule of its own. */
export class ValidationError extends UserError {
  readonly code: string

  constructor(message: string, options: { code?: string; path?: readonly string[] | null } = {}) {
    super(message, options.path ?? null)
    this.code = options.code ?? 'VALIDATION_FAILED'
  }
}

/** The thing asked for does not exist for this viewer. Another tenant's id gives exactly this answer. */
export class NotFoundError extends UserError {
  readonly code: string

  constructor(what: string, options: { code?: string; path?: readonly string[] | null } = {}) {
    super(`${what} does not exist.`, options.path ?? null)
    this.code = options.code ?? 'NOT_FOUND'
  }
}

/** Somebody was faster, or the state does not allow it now. `currentVersion` lets the caller decide anew. */
export class ConflictError extends UserError {
  readonly code: string
  readonly currentVersion: number | null

  constructor(
    message: string,
    options: { code?: string; currentVersion?: number | null; path?: readonly string[] | null } = {},
  ) {
    super(message, options.path ?? null)
    this.code = options.code ?? 'CONFLICT'
    this.currentVersion = options.currentVersion ?? null
  }
}

/** A status change that the lifecycle's table of pairs does not hold. */
export class InvalidTransitionError extends UserError {
  readonly code = 'INVALID_TRANSITION'
  readonly from: string
  readonly to: string
  readonly allowed: readonly string[]

  constructor(subject: string, from: string, to: string, allowed: readonly string[]) {
    const ways = allowed.length === 0 ? 'It is final.' : `Possible now: ${allowed.join(', ')}.`
    super(`${subject} is ${from} and cannot become ${to}. ${ways}`)
    this.from = from
    this.to = to
    this.allowed = allowed
  }
}

/** The same idempotency key came with another request body. */
export class IdempotencyKeyReusedError extends UserError {
  readonly code = 'IDEMPOTENCY_KEY_REUSED'

  constructor(key: string) {
    super(`The idempotency key "${key}" was used for another request. Use a new key for a new request.`, [
      'idempotencyKey',
    ])
  }
}

/** The viewer is known but may not do this. Never used for another tenant's rows: those do not exist. */
export class ForbiddenError extends UserError {
  readonly code = 'FORBIDDEN'

  constructor(permission: string) {
    super(`This needs the permission "${permission}", which your roles do not give.`)
  }
}
