import { targetOf } from '../../resolutions/targets.ts'
import type { Evaluator } from '../evaluator.ts'

const CODE = 'resolution.target_invalid'

/** Completed resolutions that point to something which the draft no longer holds (C35). */
export const resolutionTarget: Evaluator = {
  code: 'resolution_targets',
  version: 1,
  codes: {
    [CODE]: {
      severity: 'BLOCKING',
      entity: 'RESOLUTION',
      description: 'What a resolution puts in the place of something was itself removed from the draft. Choose again.',
    },
  },
  proposes: [],

  evaluate({ stagedEffects, draft }) {
    return stagedEffects.flatMap((effect) => {
      const gone = targetOf(effect.targetKind)
        .references(effect)
        .filter(({ attributeId, valueId }) =>
          valueId === null ? !draft.attributes.has(attributeId) : !draft.values.has(valueId),
        )
      if (gone.length === 0) return []
      return [
        {
          code: CODE,
          entityId: effect.resolutionId,
          entityLabel: effect.summary,
          changes: [],
          references: gone.map((reference) => ({ ...reference, negated: false, excerpt: effect.summary })),
          affectedCount: null,
          message: `A resolution points to something that the draft no longer holds: ${effect.summary} Choose again for its issue.`,
          proposals: [],
        },
      ]
    })
  },
}
