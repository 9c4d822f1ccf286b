import { ConflictError, NotFoundError, UserError } from '../../../errors/index.ts'

/** There is one draft at a time, and it is open already. */
export class DraftAlreadyExistsError extends ConflictError {
  readonly draftId: string

  constructor(draftId: string) {
    super('There is an open draft already. Edit it, activate it or discard it first.', {
      code: 'orgmodel.version.draft_already_exists',
    })
    this.draftId = draftId
  }
}

/** The edit needs a draft and none is open. */
export class NoDraftError extends NotFoundError {
  constructor() {
    super('An open draft of the organisation model', { code: 'orgmodel.version.no_draft' })
  }
}

/** The draft is not what the caller had before its eyes. */
export class DraftChangedError extends ConflictError {
  readonly draftId: string
  readonly contentRevision: number

  constructor(draft: { readonly id: string; readonly contentRevision: number }, path: readonly string[]) {
    super(
      `The draft has changed: its content is at revision ${draft.contentRevision}. Read it again and decide anew.`,
      { code: 'orgmodel.version.draft_changed', path },
    )
    this.draftId = draft.id
    this.contentRevision = draft.contentRevision
  }
}

/** One thing that is wrong with a model from outside. */
export interface ImportProblem {
  /** Where in the input: `['attributes', '3', 'values', '0', 'key']`. */
  readonly path: readonly string[]
  readonly code: string
  readonly message: string
}

/** The model cannot be imported; nothing of it was. */
export class ModelImportInvalidError extends UserError {
  readonly code = 'orgmodel.import.invalid'
  readonly items: readonly ImportProblem[]

  constructor(items: readonly ImportProblem[]) {
    const [first] = items
    super(
      `The model has ${items.length === 1 ? 'a problem' : `${items.length} problems`}, so nothing was imported.` +
        (first === undefined ? '' : ` First: ${first.message}`),
      first?.path ?? null,
    )
    this.items = items
  }
}
