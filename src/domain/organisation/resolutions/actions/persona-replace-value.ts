import type { ImpactContext } from '../../impact/context.ts'
import type { BareIssue } from '../../impact/pipeline.ts'
import { defineAction, invalid, type PayloadProblem } from '../action.ts'
import { replaceConditions, type Replacement } from '../persona-target.ts'
import { brokenConditions, personaOf, valuesOf } from './persona.ts'
import { mappedValues, mappingByName, unknownTargets, valueMappingSchema, type ValueMappings } from './value-mapping.ts'

function replacementsFor(mapping: ValueMappings, issue: BareIssue, context: ImpactContext): Replacement[] {
  const persona = personaOf(issue, context)
  if (persona === undefined) return []
  return brokenConditions(issue, persona).map(({ condition }) => ({
    from: condition,
    to: 'values' in condition ? { ...condition, values: mappedValues(mapping, condition.values) } : condition,
  }))
}

/** Puts other values of the same attribute in the place of those that leave. */
export const personaReplaceValue = defineAction({
  actionType: 'persona.replace_value',
  label: 'Use other values in the filter',
  effect: 'STAGED',
  destructive: false,
  exclusive: false,
  requiresAffectedEntity: true,
  shape: { mapping: valueMappingSchema.min(1) },

  suggest(issue, { context }) {
    const attributes = new Set(issue.references.map(({ attributeId }) => attributeId))
    const [attributeId] = attributes
    if (attributeId === undefined || attributes.size > 1) return null
    const leaving = issue.references.flatMap(({ valueId }) => valueId ?? [])
    const mapping = mappingByName(leaving, attributeId, context.active, context.draft)
    return mapping === null ? null : { mapping }
  },

  check({ mapping }, issue, context) {
    const persona = personaOf(issue, context)
    if (persona === undefined) return [invalid([], 'The persona is gone.')]
    const problems: PayloadProblem[] = []
    for (const { condition, references } of brokenConditions(issue, persona)) {
      const values = valuesOf(condition)
      problems.push(
        ...unknownTargets(mapping, condition.field, context.draft, 'mapping').filter(({ path }) =>
          values.includes(mapping[path[1] as number]!.from),
        ),
      )
      const uncovered = references.filter(({ valueId }) => mapping.every(({ from }) => from !== valueId))
      if (uncovered.length > 0)
        problems.push(
          invalid(['mapping'], `Uncovered references: ${uncovered.map(({ excerpt }) => excerpt).join('; ')}.`),
        )
    }
    return problems
  },

  async execute({ mapping }, { issue, context }) {
    const persona = personaOf(issue, context)!
    const replacements = replacementsFor(mapping, issue, context)
    const summary = `The filter of "${persona.name}" uses other values.`
    return { kind: 'DONE', affected: replacements.length, effects: [replaceConditions(persona, replacements, summary)] }
  },
})
