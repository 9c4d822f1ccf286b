import { statement } from '../../../database/index.ts'
import type { ExtractedSource, ReferenceExtractor } from '../references/rebuild.ts'
import type { NewStagedEffect } from './staged-effect.ts'
import { targetOf } from './targets.ts'

/** Everything in a staged effect that refers to the draft (C35). */
export const extractEffect = (effect: NewStagedEffect & { readonly id: string }): ExtractedSource => ({
  source: {
    sourceKind: 'STAGED_EFFECT',
    sourceId: effect.id,
    sourceLabel: effect.summary.slice(0, 200),
    sourceState: 'DRAFT',
  },
  references: targetOf(effect.targetKind)
    .references(effect)
    .map((reference) => ({ ...reference, role: 'MAPPING', negated: false })),
})

export const stagedEffectExtractor: ReferenceExtractor = {
  sourceKind: 'STAGED_EFFECT',
  async extractAll(tx) {
    return (await tx.query(UNAPPLIED, [])).map(extractEffect)
  },
}

const UNAPPLIED = statement<NewStagedEffect & { readonly id: string }>(
  'organisation.effects.unapplied',
  `select id::text, target_kind as "targetKind", target_id::text as "targetId",
     precondition, forward, summary
   from org_model_staged_effect where tenant_id = $1::uuid and applied_at is null order by 1`,
)
