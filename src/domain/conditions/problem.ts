import { UserError } from '../../errors/index.ts'

/** Something in a tree that cannot be evaluated, and where. */
export interface ConditionProblem {
  /** JSON pointer into the tree. */
  readonly path: string
  readonly code: ConditionProblemCode
  readonly message: string
}

export type ConditionProblemCode =
  /** Not the shape of a tree. */
  | 'shape'
  /** Too deep, too many nodes or too many values. */
  | 'too_large'
  | 'unknown_field'
  | 'unknown_value'
  /** The comparison does not fit the field's type. */
  | 'comparison_not_applicable'
  /** The literal does not fit the field's type. */
  | 'literal_not_applicable'

/**
 * The tree as a whole cannot be evaluated. A condition with a problem is never left out and never counted as
 * false: under a `not` either would become "everybody".
 */
export class ConditionsInvalidError extends UserError {
  readonly code = 'conditions.invalid'
  readonly problems: readonly ConditionProblem[]

  constructor(problems: readonly ConditionProblem[]) {
    const first = problems[0]
    super(sentenceOf(problems), first === undefined ? null : stepsOf(first.path))
    this.problems = problems
  }
}

/** All problems in one line, the first ones in words. */
export function sentenceOf(problems: readonly ConditionProblem[]): string {
  const told = problems.slice(0, MOST_TOLD).map(({ path, message }) => `${path === '' ? '/' : path}: ${message}`)
  const rest = problems.length - told.length
  return rest > 0 ? `${told.join(' ')} And ${rest} more.` : told.join(' ')
}

const MOST_TOLD = 5

const stepsOf = (path: string): string[] =>
  path
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
