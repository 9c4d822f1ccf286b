import { statement, type Tx } from '../../../database/index.ts'
import type { CompletedResolution } from '../impact/judge.ts'
import type { StagedEffect } from './staged-effect.ts'

/** The completed resolutions of a draft; of these issues only, when given. */
export const completedResolutions = (
  tx: Tx,
  draftVersionId: string,
  issueKeys: readonly string[] | null = null,
): Promise<CompletedResolution[]> =>
  tx.query(COMPLETED, [draftVersionId, issueKeys === null ? null : JSON.stringify(issueKeys)])

const COMPLETED = statement<CompletedResolution>(
  'organisation.completed_resolutions',
  `select id::text, submission_no as "submissionNo", issue_key as "issueKey", issue_fingerprint::text as fingerprint,
     issue_basis as basis, effect
   from org_model_draft_resolution
   where tenant_id = $1::uuid and draft_version_id = $2::uuid and status = 'COMPLETED'
     and ($3::jsonb is null or issue_key in (select k from jsonb_array_elements_text($3::jsonb) k))
   order by id`,
)

/** What resolutions of a draft have left for its activation, in the order of application; of these only, when given. */
export const stagedEffects = (
  tx: Tx,
  draftVersionId: string,
  resolutionIds: readonly string[] | null = null,
): Promise<StagedEffect[]> =>
  tx.query(STAGED, [draftVersionId, resolutionIds === null ? null : JSON.stringify(resolutionIds)])

const STAGED = statement<StagedEffect>(
  'organisation.staged_effects',
  `select id::text, resolution_id::text as "resolutionId", submission_no as "submissionNo",
     target_kind as "targetKind", target_id::text as "targetId", seq, precondition, forward, summary
   from org_model_staged_effect
   where tenant_id = $1::uuid and version_id = $2::uuid and applied_at is null
     and ($3::jsonb is null or resolution_id in (select r::uuid from jsonb_array_elements_text($3::jsonb) r))
   order by target_kind, target_id, seq`,
)
