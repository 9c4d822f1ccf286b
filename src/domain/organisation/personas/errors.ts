import { ConflictError, UserError } from '../../../errors/index.ts'
import { type ConditionProblem, sentenceOf } from '../../conditions/index.ts'
import type { Persona } from './persona.ts'

/**
 * The persona's filter cannot be evaluated, so who belongs to it is not known: not "nobody" and not "everybody".
 * Whoever was to act on its audience holds.
 */
export class PersonaInvalidError extends UserError {
  readonly code = 'persona.invalid'
  readonly personaId: string
  readonly problems: readonly ConditionProblem[]

  constructor(persona: Pick<Persona, 'id' | 'name'>, problems: readonly ConditionProblem[]) {
    super(`The filter of "${persona.name}" cannot be evaluated. Repair it first. ${sentenceOf(problems)}`)
    this.personaId = persona.id
    this.problems = problems
  }
}

/** The filter given is not one that the active model can evaluate; nothing was written. */
export class PersonaFilterInvalidError extends UserError {
  readonly code = 'persona.filter_invalid'
  readonly problems: readonly ConditionProblem[]

  constructor(problems: readonly ConditionProblem[]) {
    const steps = problems[0]?.path.split('/').slice(1) ?? []
    super(`The filter cannot be used. ${sentenceOf(problems)}`, ['filter', ...steps])
    this.problems = problems
  }
}

/** The persona is not what the caller had before its eyes. */
export const personaChanged = ({ name, revision }: Pick<Persona, 'name' | 'revision'>): ConflictError =>
  new ConflictError(`"${name}" has changed: it is at revision ${revision}. Read it again and decide anew.`, {
    currentVersion: revision,
    path: ['expectedRevision'],
  })
