import { statement, type Tx } from '../../../database/index.ts'
import { newId } from '../ids.ts'
import { deleteReferences, replaceReferences } from '../references/index-table.ts'
import { extractEffect } from './effect-references.ts'
import type { Resolution } from './resolution.ts'
import type { NewStagedEffect } from './staged-effect.ts'

const SOURCE = 'STAGED_EFFECT'

/**
 * Puts the effects of a submission in the place of those that the resolution had: a second run of the same
 * attempt ends the same. They are references to the draft like any other (C35).
 */
export async function stageEffects(
  tx: Tx,
  { id, draftVersionId, submissionNo }: Pick<Resolution, 'id' | 'draftVersionId' | 'submissionNo'>,
  effects: readonly NewStagedEffect[],
): Promise<void> {
  await withdrawEffects(tx, [id])
  if (effects.length === 0) return
  const rows = effects.map((effect) => ({ ...effect, id: newId(), resolutionId: id, submissionNo }))
  await tx.query(STAGE, [draftVersionId, JSON.stringify(rows)])
  for (const effect of rows) {
    const { source, references } = extractEffect(effect)
    await replaceReferences(tx, source, references)
  }
}

/** Takes back what resolutions left for the activation. Answers how much that was. */
export async function withdrawEffects(tx: Tx, resolutionIds: readonly string[]): Promise<number> {
  if (resolutionIds.length === 0) return 0
  const rows = await tx.query(WITHDRAW, [JSON.stringify(resolutionIds)])
  if (rows.length > 0)
    await deleteReferences(
      tx,
      SOURCE,
      rows.map(({ id }) => id),
    )
  return rows.length
}

// `seq` orders the effects on one target. Two resolutions that stage on the same target wait for each other at
// its advisory lock, so the highest number is theirs alone to read.
const STAGE = statement<unknown>(
  'organisation.stage_effects',
  `with new as materialized (
    select e.*, row_number() over (partition by "targetKind", "targetId" order by e.id) as place
    from jsonb_to_recordset($3::jsonb) as e(id uuid, "resolutionId" uuid, "submissionNo" int, "targetKind" text,
      "targetId" uuid, precondition jsonb, forward jsonb, summary text)
  )
  insert into org_model_staged_effect (tenant_id, id, version_id, resolution_id, submission_no, target_kind, target_id,
    seq, precondition, forward, inverse, summary)
  select $1::uuid, id, $2::uuid, "resolutionId", "submissionNo", "targetKind", "targetId",
    place + coalesce((select max(seq) from org_model_staged_effect s where s.tenant_id = $1::uuid
      and s.version_id = $2::uuid and s.target_kind = "targetKind" and s.target_id = "targetId"), 0),
    precondition, forward, '{}', left(summary, 400)
  from new`,
)

/** Serialises what is done to one target (C28). Taken after the versions, in ascending order of the target. */
export async function lockTarget(tx: Tx, kind: string, id: string): Promise<void> {
  await tx.query(LOCK_TARGET, [`${kind}:${id}`])
}

const LOCK_TARGET = statement<unknown>(
  'organisation.lock_target',
  `select pg_advisory_xact_lock(hashtextextended($1::uuid::text || ':' || $2, 0))::text`,
)

const WITHDRAW = statement<{ id: string }>(
  'organisation.withdraw_effects',
  `delete from org_model_staged_effect
   where tenant_id = $1::uuid and applied_at is null
     and resolution_id in (select r::uuid from jsonb_array_elements_text($2::jsonb) r)
   returning id::text`,
)
