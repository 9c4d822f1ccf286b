import { z } from 'zod'
import type { ConditionTree } from '../../../conditions/index.ts'
import type { ImpactContext } from '../../impact/context.ts'
import type { BareIssue } from '../../impact/pipeline.ts'
import { defineAction, invalid } from '../action.ts'
import { replaceConditions, replaceIn, type Replacement } from '../persona-target.ts'
import { audienceHasChanged, brokenConditions, personaOf } from './persona.ts'

function removal(
  issue: BareIssue,
  context: ImpactContext,
): { replacements: Replacement[]; after: ConditionTree | null } {
  const persona = personaOf(issue, context)
  if (persona === undefined) return { replacements: [], after: null }
  const replacements = brokenConditions(issue, persona).map(({ condition }) => ({ from: condition, to: null }))
  return { replacements, after: replaceIn(persona.filter, replacements) }
}

/** Takes the broken conditions out of the filter. The audience changes, so its new size is part of the choice. */
export const personaRemoveCondition = defineAction({
  actionType: 'persona.remove_condition',
  label: 'Remove the condition from the filter',
  effect: 'STAGED',
  destructive: true,
  exclusive: false,
  requiresAffectedEntity: true,
  shape: {
    paths: z
      .array(z.string().max(1_000))
      .min(1)
      .max(1_000)
      .describe('JSON pointers of the conditions to remove: all that are broken.'),
    acceptAudienceChange: z.literal(true).describe('The audience becomes another one.'),
    expectedCountAfter: z.int().min(0).describe('How many people the audience then has.'),
  },

  async suggest(issue, { context, countAudience }) {
    const persona = personaOf(issue, context)
    const { after } = removal(issue, context)
    if (persona === undefined || after === null) return null
    return {
      paths: brokenConditions(issue, persona).map(({ path }) => path),
      acceptAudienceChange: true as const,
      expectedCountAfter: await countAudience(after),
    }
  },

  check(payload, issue, context) {
    const persona = personaOf(issue, context)
    if (persona === undefined) return [invalid([], 'The persona is gone.')]
    const broken = brokenConditions(issue, persona).map(({ path }) => path)
    const foreign = payload.paths.findIndex((path) => !broken.includes(path))
    if (foreign !== -1) return [invalid(['paths', foreign], 'This condition is not broken.')]
    const uncovered = broken.filter((path) => !payload.paths.includes(path))
    if (uncovered.length > 0)
      return [invalid(['paths'], `Uncovered references: ${uncovered.map((path) => path || '/').join(', ')}.`)]
    if (removal(issue, context).after === null)
      return [
        invalid(
          ['paths'],
          'Nothing would be left, and an empty filter would select everybody. Archive the persona instead.',
        ),
      ]
    return []
  },

  async execute(payload, { issue, context, countAudience }) {
    const persona = personaOf(issue, context)!
    const { replacements, after } = removal(issue, context)
    const changed = audienceHasChanged(payload.expectedCountAfter, await countAudience(after!))
    if (changed !== null) return changed
    const summary = `${replacements.length} condition(s) leave the filter of "${persona.name}".`
    return { kind: 'DONE', affected: replacements.length, effects: [replaceConditions(persona, replacements, summary)] }
  },
})
