/** Any member of a mutation's result. New members come with time; their `__typename` is then not known here. */
export interface Outcome {
  readonly __typename: string
}

/** What every member that is not the success has in common. */
export interface UserError extends Outcome {
  readonly message: string
  readonly code: string
  readonly path?: readonly string[] | null
}

/** The success among the members of a result. */
export type SuccessOf<Result> = Extract<Result, { readonly __typename: `${string}Success` }>

/** Whether a mutation ended in something that its caller can act on. */
export const isUserError = (outcome: Outcome | null | undefined): outcome is UserError =>
  outcome !== null && outcome !== undefined && !outcome.__typename.endsWith('Success') && 'code' in outcome

/** A mutation ended in something that its caller can act on. `outcome` is the whole member. */
export class UserErrorOutcome extends Error {
  readonly code: string
  readonly path: readonly string[] | null
  readonly outcome: UserError

  constructor(outcome: UserError) {
    super(outcome.message)
    this.name = 'UserErrorOutcome'
    this.code = outcome.code
    this.path = outcome.path ?? null
    this.outcome = outcome
  }
}

/**
 * The success of a mutation, for callers who act on nothing else.
 * @throws UserErrorOutcome with the member that it ended in instead
 */
export function unwrap<Result extends Outcome>(result: Result | null | undefined): SuccessOf<Result> {
  if (isUserError(result)) throw new UserErrorOutcome(result)
  if (result === null || result === undefined) throw new TypeError('The mutation gave no result.')
  return result as unknown as SuccessOf<Result>
}
