import { statement, type Tx } from '../../../database/index.ts'
import type { CompletedResolution } from '../impact/judge.ts'
import type { StagedEffect } from './staged-effect.ts'

/** The completed resolutions of a draft. */
export const completedResolutions = (tx: Tx, draftVersionId: string): Promise<CompletedResolution[]> =>
  tx.query(COMPLETED, [draftVersionId])

const COMPLETED = statement<CompletedResolution>(
  'organisation.completed_resolutions',
  `select id::text, submission_no as "submissionNo", issue_key as "issueKey", issue_fingerprint::text as fingerprint,
     issue_basis as basis, effect
   from org_model_draft_resolution
   where tenant_id = $1::uuid and draft_version_id = $2::uuid and status = 'COMPLETED'
   order by id`,
)

/** What the completed resolutions of a draft have left for its activation, in the order of application. */
export const stagedEffects = (tx: Tx, draftVersionId: string): Promise<StagedEffect[]> =>
  tx.query(STAGED, [draftVersionId])

const STAGED = statement<StagedEffect>(
  'organisation.staged_effects',
  `select id::text, resolution_id::text as "resolutionId", submission_no as "submissionNo",
     target_kind as "targetKind", target_id::text as "targetId", seq, precondition, forward, summary
   from org_model_staged_effect
   where tenant_id = $1::uuid and version_id = $2::uuid and applied_at is null
   order by target_kind, target_id, seq`,
)
