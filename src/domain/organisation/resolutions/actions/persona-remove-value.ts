import { z } from 'zod'
import type { ImpactContext } from '../../impact/context.ts'
import type { BareIssue } from '../../impact/pipeline.ts'
import { defineAction, idSchema, invalid } from '../action.ts'
import { replaceConditions, replaceIn, type Replacement } from '../persona-target.ts'
import { audienceHasChanged, brokenConditions, personaOf } from './persona.ts'

/** Null when a condition would be left without any value. */
function replacementsFor(issue: BareIssue, context: ImpactContext): Replacement[] | null {
  const persona = personaOf(issue, context)
  if (persona === undefined) return null
  const replacements: Replacement[] = []
  for (const { condition, references } of brokenConditions(issue, persona)) {
    if (!('values' in condition)) return null
    const values = condition.values.filter((value) => references.every(({ valueId }) => valueId !== value))
    if (values.length === 0) return null
    replacements.push({ from: condition, to: { ...condition, values } })
  }
  return replacements
}

/** Takes the values that leave out of conditions that name others too. */
export const personaRemoveValue = defineAction({
  actionType: 'persona.remove_value',
  label: 'Remove the values from the filter',
  effect: 'STAGED',
  destructive: true,
  exclusive: false,
  requiresAffectedEntity: true,
  shape: {
    valueIds: z.array(idSchema).min(1).max(1_000).describe('The values to remove: all that leave the model.'),
    expectedCountAfter: z.int().min(0).describe('How many people the audience then has.'),
  },

  async suggest(issue, { context, countAudience }) {
    const persona = personaOf(issue, context)
    const replacements = replacementsFor(issue, context)
    if (persona === undefined || replacements === null) return null
    return {
      valueIds: [...new Set(issue.references.flatMap(({ valueId }) => valueId ?? []))],
      expectedCountAfter: await countAudience(replaceIn(persona.filter, replacements)!),
    }
  },

  check(payload, issue, context) {
    const leaving = new Set(issue.references.flatMap(({ valueId }) => valueId ?? []))
    const foreign = payload.valueIds.findIndex((value) => !leaving.has(value))
    if (foreign !== -1)
      return [invalid(['valueIds', foreign], 'This value does not leave the model, or the filter does not use it.')]
    const uncovered = issue.references.filter(({ valueId }) => valueId !== null && !payload.valueIds.includes(valueId))
    if (uncovered.length > 0)
      return [invalid(['valueIds'], `Uncovered references: ${uncovered.map(({ excerpt }) => excerpt).join('; ')}.`)]
    if (replacementsFor(issue, context) === null)
      return [
        invalid(['valueIds'], 'A condition would be left without values. Replace the values or remove the condition.'),
      ]
    return []
  },

  async execute(payload, { issue, context, countAudience }) {
    const persona = personaOf(issue, context)!
    const replacements = replacementsFor(issue, context)!
    const after = replaceIn(persona.filter, replacements)!
    const changed = audienceHasChanged(payload.expectedCountAfter, await countAudience(after))
    if (changed !== null) return changed
    const summary = `${payload.valueIds.length} value(s) leave the filter of "${persona.name}".`
    return { kind: 'DONE', affected: replacements.length, effects: [replaceConditions(persona, replacements, summary)] }
  },
})
