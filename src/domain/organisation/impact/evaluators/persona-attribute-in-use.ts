import type { Evaluator } from '../evaluator.ts'
import { brokenPersonas, conditionOf, referencesOfPersona, somethingRemains } from './broken-personas.ts'

const CODE = 'persona.attribute_in_use'

/** E1: personas whose filter uses an attribute that leaves the model or becomes something else. */
export const personaAttributeInUse: Evaluator = {
  code: 'persona_attributes',
  version: 1,
  codes: {
    [CODE]: {
      severity: 'BLOCKING',
      entity: 'PERSONA',
      description: 'The filter of a persona uses an attribute that the draft removes, replaces or gives another type.',
    },
  },
  proposes: ['persona.update_filter_value', 'persona.remove_condition', 'persona.archive'],

  evaluate(context) {
    return brokenPersonas(context).flatMap(({ persona, problems }) => {
      const broken = new Set(problems.filter(({ code }) => code !== 'unknown_value').map(conditionOf))
      if (broken.size === 0) return []
      // The values of such a condition are part of the problem: whatever is mapped must cover them (C10, C44).
      const references = referencesOfPersona(persona, context.active, ({ conditionPath }) => broken.has(conditionPath))
      const attributes = new Set(references.map(({ attributeId }) => attributeId))
      const changes = context.changes.filter(
        ({ attributeId, kind }) => attributes.has(attributeId) && BREAKING.has(kind),
      )
      const names = [...attributes].map((id) => `"${context.active.attributes.get(id)?.label ?? id}"`)
      const replaced = changes.some(({ kind }) => kind === 'ATTRIBUTE_REPLACED')
      return [
        {
          code: CODE,
          entityId: persona.id,
          entityLabel: persona.name,
          changes,
          references,
          affectedCount: null,
          message: `The filter of "${persona.name}" uses ${names.join(', ')}, which it could not after this draft.`,
          proposals: [
            { actionType: 'persona.update_filter_value', recommended: replaced },
            ...(somethingRemains(persona, broken) ? [{ actionType: 'persona.remove_condition' }] : []),
            { actionType: 'persona.archive' },
          ],
        },
      ]
    })
  },
}

// References are by id: a new label, key or place breaks none of them (C02).
const BREAKING: ReadonlySet<string> = new Set(['ATTRIBUTE_REMOVED', 'ATTRIBUTE_REPLACED', 'ATTRIBUTE_TYPE_CHANGED'])
