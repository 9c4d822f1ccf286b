import { conditionsOf, problemsOf, referencesOf, type ConditionProblem } from '../../../conditions/index.ts'
import { fieldsOf, type ModelSnapshot } from '../../model/model.ts'
import type { Persona } from '../../personas/persona.ts'
import type { ImpactContext } from '../context.ts'
import type { IssueReference } from '../issue.ts'

/** A persona's filter that works under the active model and would not under the draft. */
export interface BrokenPersona {
  readonly persona: Persona
  /** What would break, without what is broken already: that is not this draft's doing (P41). */
  readonly problems: readonly ConditionProblem[]
}

export function brokenPersonas({ active, draft, personas }: ImpactContext): BrokenPersona[] {
  const [before, after] = [fieldsOf(active), fieldsOf(draft)]
  return personas.flatMap((persona) => {
    // Who belongs to a STATIC persona no longer depends on the model.
    const problems = persona.kind === 'STATIC' ? [] : problemsOf(persona.filter, after)
    if (problems.length === 0) return []
    // By condition: one that a staged effect has pointed to something new is unknown to the active model as a
    // whole, and whether its target is still in the draft is for another evaluator to say.
    const known = new Set(problemsOf(persona.filter, before).map(conditionOf))
    const news = problems.filter((problem) => !known.has(conditionOf(problem)))
    return news.length === 0 ? [] : [{ persona, problems: news }]
  })
}

/** JSON pointer of the condition that a problem stands in. */
export const conditionOf = ({ path }: ConditionProblem): string =>
  path.replace(/\/(field|cmp|literal|values\/\d+)$/, '')

/** The references of the persona that `wanted` picks, with the words a person reads. */
export function referencesOfPersona(
  persona: Persona,
  model: ModelSnapshot,
  wanted: (reference: { path: string; conditionPath: string }) => boolean,
): IssueReference[] {
  return referencesOf(persona.filter)
    .filter(wanted)
    .map(({ path, field, value, negated }) => ({
      path,
      attributeId: field,
      valueId: value,
      negated,
      excerpt:
        value === null
          ? (model.attributes.get(field)?.label ?? field)
          : `${model.attributes.get(field)?.label ?? field}: ${model.values.get(value)?.label ?? value}`,
    }))
}

/** Whether a filter would remain without the conditions that stand at these pointers. */
export const somethingRemains = (persona: Persona, broken: ReadonlySet<string>): boolean =>
  conditionsOf(persona.filter).some(({ path }) => !broken.has(path))
