import { statement, type Tx } from '../../../database/index.ts'
import { deleteReferences } from '../references/index-table.ts'
import type { AppliedEffect, ApplyRequest, StagedEffect } from '../resolutions/staged-effect.ts'
import { EFFECT_TARGETS } from '../resolutions/targets.ts'
import { StagedEffectConflictError } from './errors.ts'

/** Takes the locks of everything the effects will change: after the versions, before the clock. */
export async function lockTargets(tx: Tx, effects: readonly StagedEffect[]): Promise<void> {
  for (const target of EFFECT_TARGETS) await target.lock(tx, targetsOf(target.kind, effects))
}

/** An effect that was applied, and what undoes exactly that. */
export type Applied = Extract<AppliedEffect, { kind: 'APPLIED' }>

/**
 * Applies the effects, each kind of target in its turn.
 * @throws StagedEffectConflictError with all that do not fit; the caller's transaction ends with it
 */
export async function applyEffects(
  tx: Tx,
  effects: readonly StagedEffect[],
  request: ApplyRequest,
): Promise<readonly Applied[]> {
  const applied: AppliedEffect[] = []
  for (const target of EFFECT_TARGETS) applied.push(...(await target.apply(tx, ofKind(target.kind, effects), request)))
  const conflicts = applied.flatMap((result) => {
    if (result.kind === 'APPLIED') return []
    const { resolutionId, summary } = effects.find(({ id }) => id === result.effectId)!
    return [{ resolutionId, summary, reason: result.reason }]
  })
  if (conflicts.length > 0) throw new StagedEffectConflictError(conflicts)
  return applied.filter((result) => result.kind === 'APPLIED')
}

/**
 * Files the applied effects with their activation, and takes them out of the reference index: what they changed
 * refers to the model itself now.
 */
export async function markApplied(tx: Tx, activationId: string, applied: readonly Applied[]): Promise<void> {
  await tx.query(MARK_APPLIED, [
    activationId,
    JSON.stringify(applied.map(({ effectId, inverse }) => ({ id: effectId, inverse }))),
  ])
  await deleteReferences(
    tx,
    'STAGED_EFFECT',
    applied.map(({ effectId }) => effectId),
  )
}

/** Takes away what was staged and does not count: what closes with the draft leaves nothing behind. */
export async function dropUnapplied(tx: Tx, versionId: string): Promise<void> {
  const dropped = await tx.query(DROP_UNAPPLIED, [versionId])
  await deleteReferences(
    tx,
    'STAGED_EFFECT',
    dropped.map(({ id }) => id),
  )
}

const ofKind = (kind: string, effects: readonly StagedEffect[]): StagedEffect[] =>
  effects.filter(({ targetKind }) => targetKind === kind)

const targetsOf = (kind: string, effects: readonly StagedEffect[]): string[] =>
  [...new Set(ofKind(kind, effects).map(({ targetId }) => targetId))].toSorted()

const MARK_APPLIED = statement<unknown>(
  'organisation.effects.mark_applied',
  `update org_model_staged_effect e set applied_at = clock_timestamp(), activation_id = $2::uuid, inverse = a.inverse
   from jsonb_to_recordset($3::jsonb) as a(id uuid, inverse jsonb)
   where e.tenant_id = $1::uuid and e.id = a.id`,
)

const DROP_UNAPPLIED = statement<{ id: string }>(
  'organisation.effects.drop_unapplied',
  `delete from org_model_staged_effect where tenant_id = $1::uuid and version_id = $2::uuid and applied_at is null
   returning id::text`,
)
