import { conditionsOf } from '../../../conditions/index.ts'
import type { Persona } from '../../personas/persona.ts'
import type { Evaluator } from '../evaluator.ts'
import type { IssueReference } from '../issue.ts'
import { brokenPersonas, referencesOfPersona } from './broken-personas.ts'

const CODE = 'persona.value_in_use'

/** E2: personas whose filter names a value that leaves an attribute which stays. */
export const personaValueInUse: Evaluator = {
  code: 'persona_values',
  version: 1,
  codes: {
    [CODE]: {
      severity: 'BLOCKING',
      entity: 'PERSONA',
      description: 'The filter of a persona names a value that the draft removes.',
    },
  },
  proposes: ['persona.replace_value', 'persona.remove_value'],

  evaluate(context) {
    return brokenPersonas(context).flatMap(({ persona, problems }) => {
      const paths = new Set(problems.filter(({ code }) => code === 'unknown_value').map(({ path }) => path))
      if (paths.size === 0) return []
      const references = referencesOfPersona(persona, context.active, ({ path }) => paths.has(path))
      const values = new Set(references.map(({ valueId }) => valueId))
      const names = [...new Set(references.map(({ excerpt }) => `"${excerpt}"`))]
      return [
        {
          code: CODE,
          entityId: persona.id,
          entityLabel: persona.name,
          changes: context.changes.filter(({ kind, valueId }) => kind === 'VALUE_REMOVED' && values.has(valueId)),
          references,
          affectedCount: null,
          message: `The filter of "${persona.name}" names ${names.join(', ')}, which this draft removes.`,
          proposals: [
            { actionType: 'persona.replace_value', recommended: true },
            ...(everyConditionKeepsAValue(persona, references) ? [{ actionType: 'persona.remove_value' }] : []),
          ],
        },
      ]
    })
  },
}

function everyConditionKeepsAValue(persona: Persona, leaving: readonly IssueReference[]): boolean {
  const paths = new Set(leaving.map(({ path }) => path))
  return conditionsOf(persona.filter).every(
    ({ condition, path }) =>
      !('values' in condition) || condition.values.some((_, index) => !paths.has(`${path}/values/${index}`)),
  )
}
