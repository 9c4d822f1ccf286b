import { ConflictError, UserError, ValidationError } from '../../../errors/index.ts'

/** What is wrong with one resolution of a request. */
export interface ResolutionProblem {
  /** Its place in the request. */
  readonly index: number
  /** Into the request: `['resolutions', '2', 'actionPayload', 'mapping', '0', 'to']`. */
  readonly path: readonly string[]
  readonly code: string
  readonly message: string
}

/** Some resolutions of the request cannot be submitted, so none was. */
export class ResolutionsInvalidError extends UserError {
  readonly code = 'orgmodel.resolution.invalid'
  readonly items: readonly ResolutionProblem[]

  constructor(items: readonly ResolutionProblem[]) {
    const [first] = items
    super(
      `${items.length === 1 ? 'One problem was' : `${items.length} problems were`} found, so nothing was submitted.` +
        (first === undefined ? '' : ` First: ${first.message}`),
      first?.path ?? null,
    )
    this.items = items
  }
}

/** The seed's code for a resolution without an open draft. */
export const noDraftToResolve = (): ConflictError =>
  new ConflictError('There is no open draft to attach resolutions to. Open a draft first.', {
    code: 'orgmodel.version.no_draft_to_submit_resolutions',
  })

export const batchError = (name: 'empty_batch' | 'batch_too_large', message: string): ValidationError =>
  new ValidationError(message, { code: `orgmodel.resolution.${name}`, path: ['resolutions'] })

export const idempotencyConflict = (): ConflictError =>
  new ConflictError('This idempotency key was used for other resolutions. Use a new key for a new request.', {
    code: 'orgmodel.resolution.idempotency_conflict',
    path: ['idempotencyKey'],
  })
