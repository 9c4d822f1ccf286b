import type { Tx } from '../../../database/index.ts'
import { pointer } from '../../conditions/index.ts'
import type { Holding, ImpactContext } from '../impact/context.ts'
import type { ModelSnapshot } from '../model/model.ts'
import { COUNT_HOLDERS, MOVE_HOLDINGS } from './move-holdings.ts'
import type { EffectReference, EffectTarget, NewStagedEffect, StagedEffect } from './staged-effect.ts'

export const HOLDINGS = 'HOLDINGS'

export interface ValueMapping {
  readonly from: string
  /** Null: the value is dropped. */
  readonly to: string | null
  /** The attribute that `to` is a value of. */
  readonly attributeId: string | null
}

/** What happens to what people hold of one attribute, or of one value of it, that leaves the model. */
export type HoldingsChange = { readonly attributeId: string; readonly valueId: string | null } & (
  | { readonly kind: 'MIGRATE'; readonly mapping: readonly ValueMapping[]; readonly unmapped: 'block' | 'clear' }
  | { readonly kind: 'ARCHIVE'; readonly retentionDays: number }
  | { readonly kind: 'CLEAR'; readonly expectedCount: number }
)

/** For how long moved and cleared values can still be put back. */
const UNDO_DAYS = 1

export const changeHoldings = (change: HoldingsChange, summary: string): NewStagedEffect => ({
  targetKind: HOLDINGS,
  targetId: change.valueId ?? change.attributeId,
  precondition: change.kind === 'CLEAR' ? { people: change.expectedCount } : {},
  forward: { ...change },
  summary,
})

const changeOf = (effect: NewStagedEffect): HoldingsChange => effect.forward as unknown as HoldingsChange

function leaves(holding: Holding, change: HoldingsChange): boolean {
  if (holding.attributeId !== change.attributeId) return false
  if (change.valueId !== null && holding.valueId !== change.valueId) return false
  if (change.kind !== 'MIGRATE' || change.unmapped === 'clear') return true
  return change.mapping.some(({ from }) => from === holding.valueId)
}

export const holdingsTarget: EffectTarget = {
  kind: HOLDINGS,

  // The clock's lock, which the activation takes next, keeps people from changing: they take it first.
  async lock() {},

  project(context: ImpactContext, effects: readonly StagedEffect[]) {
    if (effects.length === 0) return context
    const changes = effects.map(changeOf)
    return {
      ...context,
      holdings: context.holdings.filter((holding) => !changes.some((change) => leaves(holding, change))),
    }
  },

  async apply(tx, effects, { versionId, model }) {
    const applied = []
    for (const effect of effects) {
      const conflict = await applyOne(tx, changeOf(effect), versionId, model)
      applied.push(
        conflict === null
          ? {
              kind: 'APPLIED' as const,
              effectId: effect.id,
              inverse: { kind: 'RESTORE_HOLDINGS', versionId, change: effect.forward },
            }
          : { kind: 'CONFLICT' as const, effectId: effect.id, reason: conflict },
      )
    }
    return applied
  },

  references(effect): readonly EffectReference[] {
    const change = changeOf(effect)
    if (change.kind !== 'MIGRATE') return []
    return change.mapping.flatMap(({ to, attributeId }, index) =>
      to === null || attributeId === null
        ? []
        : [{ path: pointer('', 'mapping', index, 'to'), attributeId, valueId: to }],
    )
  },
}

/** Null, or why it does not fit any more. */
async function applyOne(
  tx: Tx,
  change: HoldingsChange,
  versionId: string,
  model: ModelSnapshot,
): Promise<string | null> {
  const mapping = change.kind === 'MIGRATE' ? change.mapping : []
  if (change.kind === 'MIGRATE' && change.unmapped === 'block') {
    const [unmapped] = await tx.query(COUNT_HOLDERS, [
      change.attributeId,
      change.valueId,
      JSON.stringify(mapping.map(({ from }) => from)),
    ])
    if (unmapped!.people > 0) return `${unmapped!.people} people hold a value that the mapping does not name.`
  }
  const map = mapping.map(({ from, to, attributeId }) => ({
    from,
    to,
    attribute_id: attributeId,
    several: attributeId !== null && model.attributes.get(attributeId)?.dataType === 'MULTI_SELECT',
  }))
  const days = change.kind === 'ARCHIVE' ? change.retentionDays : UNDO_DAYS
  const [moved] = await tx.query(MOVE_HOLDINGS, [
    change.attributeId,
    change.valueId,
    versionId,
    days,
    JSON.stringify(map),
  ])
  if (change.kind === 'CLEAR' && moved!.people !== change.expectedCount)
    return `${moved!.people} people hold a value, not the ${change.expectedCount} that were confirmed.`
  return null
}
