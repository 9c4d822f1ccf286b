import { statement, type Tx } from '../../../database/index.ts'
import { enqueueMany, type JobDefinition } from '../../../jobs/index.ts'
import { createdMany, transitionMany, type Act } from '../../../transitions/index.ts'
import { bumpDownstream } from '../clock.ts'
import { newId } from '../ids.ts'
import { sha256 } from '../model/canonical.ts'
import type { LockedVersion } from '../versions/lock.ts'
import type { CheckedChoice } from './check-submission.ts'
import { ResolutionsInvalidError } from './errors.ts'
import { resolutionLifecycle } from './lifecycle.ts'
import { eventData, RESOLUTION_COLUMNS, type Resolution } from './resolution.ts'
import type { ResolutionJobPayload } from './resolution-job.ts'
import { withdrawEffects } from './stage-effects.ts'

/** One answer per choice, in the order of the request. */
export interface SubmittedResolution {
  readonly resolutionId: string
  readonly issueCode: string
  readonly affectedEntityId: string | null
  readonly jobId: string
  readonly submissionNo: number
}

/** Of one issue: whoever resubmits this often is a loop (C29). */
const MOST_SUBMISSIONS = 100

/** Checked choices on their way into the database. */
export interface Submission {
  readonly checked: readonly CheckedChoice[]
  readonly draft: LockedVersion
  readonly act: Act
  readonly key: string | null
  readonly job: JobDefinition<ResolutionJobPayload>
  readonly maxAttempts: number
}

/**
 * An upsert on (draft, issue) in the two steps that its event needs: insert what is new, then lock and transition
 * what was there. In order of the key, so that two batches wait for each other instead of deadlocking.
 */
export async function fileChoices(tx: Tx, submission: Submission): Promise<SubmittedResolution[]> {
  const { draft, act, job, maxAttempts } = submission
  const rows = submission.checked.map((choice) => ({
    id: newId(),
    // Ours before the job exists, so it always belongs to the row's submission (C18).
    jobId: newId(),
    choice,
    set: columnsOf(choice, submission),
  }))
  const asJson = rows.map(({ id, jobId, set }) => ({ ...set, id, job_id: jobId, draft_version_id: draft.id }))
  const created = new Map((await tx.query(CREATE, [JSON.stringify(asJson)])).map(({ id, issueKey }) => [issueKey, id]))
  const existing = await tx.query(LOCK_BY_KEY, [
    draft.id,
    JSON.stringify(rows.map(({ choice }) => choice.issueKey).filter((issueKey) => !created.has(issueKey))),
  ])
  mustNotBeALoop(existing, submission.checked)
  const before = new Map(existing.map((resolution) => [resolution.issueKey, resolution]))
  const submitted = rows.map((row) => {
    const { issueKey, issueCode, affectedEntityId, actionType, issue } = row.choice
    const former = before.get(issueKey)
    const resolutionId = former?.id ?? created.get(issueKey)!
    const submissionNo = (former?.submissionNo ?? 0) + 1
    const data = eventData(
      { draftVersionId: draft.id, issueKey, issueCode, affectedEntityId, affectedLabel: issue.entityLabel, actionType },
      { submissionNo, attempt: 0, maxAttempts },
    )
    return { ...row, former, resolutionId, submissionNo, data }
  })
  await createdMany(
    tx,
    resolutionLifecycle,
    submitted.flatMap(({ former, resolutionId, data }) =>
      former === undefined ? [{ id: resolutionId, status: 'PENDING' as const, act, data }] : [],
    ),
  )
  await transitionMany(
    tx,
    resolutionLifecycle,
    submitted.flatMap(({ former, resolutionId, submissionNo, jobId, set, data }) =>
      former === undefined
        ? []
        : [
            {
              id: resolutionId,
              to: 'PENDING' as const,
              act,
              reason: 'orgmodel.resolution.resubmitted',
              data,
              set: { ...set, ...FRESH, submission_no: submissionNo, job_id: jobId },
            },
          ],
    ),
  )
  const withdrawn = await withdrawEffects(
    tx,
    existing.map(({ id }) => id),
  )
  if (withdrawn > 0 || existing.some(({ status }) => status === 'COMPLETED')) await bumpDownstream(tx)
  await enqueueMany(
    tx,
    job,
    submitted.map(({ jobId, resolutionId, submissionNo }) => ({
      jobId,
      tenantId: tx.tenantId,
      payload: { resolutionId, submissionNo },
      correlationId: act.correlationId,
      triggeredBy: act.actor,
    })),
  )
  return submitted.map(({ choice, resolutionId, jobId, submissionNo }) => ({
    resolutionId,
    issueCode: choice.issueCode,
    affectedEntityId: choice.affectedEntityId,
    jobId,
    submissionNo,
  }))
}

/** What every submission writes, by column. */
const columnsOf = ({ issue, action, ...choice }: CheckedChoice, { draft, act, key, maxAttempts }: Submission) => ({
  issue_key: choice.issueKey,
  issue_code: choice.issueCode,
  affected_entity_id: choice.affectedEntityId,
  affected_label: issue.entityLabel?.slice(0, 400) ?? null,
  issue_fingerprint: issue.fingerprint,
  issue_basis: issue.basis,
  content_revision: draft.contentRevision,
  chosen_action_type: choice.actionType,
  action_payload: choice.payload,
  payload_hash: sha256(choice.payload ?? ''),
  effect: action.effect,
  max_attempts: maxAttempts,
  submitted_by: act.actor,
  correlation_id: act.correlationId,
  idempotency_key: key,
})

/** What a new submission forgets of the former one. */
const FRESH = {
  attempt_no: 0,
  next_attempt_at: null,
  last_attempt_error: null,
  last_attempt_code: null,
  error: null,
  error_code: null,
}

function mustNotBeALoop(existing: readonly Resolution[], checked: readonly CheckedChoice[]): void {
  const items = existing
    .filter(({ submissionNo }) => submissionNo >= MOST_SUBMISSIONS)
    .flatMap(({ issueKey }) => checked.filter((choice) => choice.issueKey === issueKey))
    .map(({ index }) => ({
      index,
      path: ['resolutions', String(index)],
      code: 'orgmodel.resolution.too_many_submissions',
      message: `This issue was submitted ${MOST_SUBMISSIONS} times. Edit the draft, or discard it.`,
    }))
  if (items.length > 0) throw new ResolutionsInvalidError(items)
}

const CREATE = statement<{ id: string; issueKey: string }>(
  'organisation.resolutions.create',
  `insert into org_model_draft_resolution (tenant_id, id, draft_version_id, issue_key, issue_code, affected_entity_id,
     affected_label, issue_fingerprint, issue_basis, content_revision, chosen_action_type, action_payload,
     payload_hash, effect, job_id, max_attempts, submitted_by, correlation_id, idempotency_key)
   select $1::uuid, id, draft_version_id, issue_key, issue_code, affected_entity_id, affected_label,
     issue_fingerprint, issue_basis, content_revision, chosen_action_type, action_payload, payload_hash, effect,
     job_id, max_attempts, submitted_by, correlation_id, idempotency_key
   from jsonb_populate_recordset(null::org_model_draft_resolution, $2::jsonb)
   order by issue_key
   on conflict (tenant_id, draft_version_id, issue_key) do nothing
   returning id::text, issue_key as "issueKey"`,
)

const LOCK_BY_KEY = statement<Resolution>(
  'organisation.resolutions.lock_by_key',
  `select ${RESOLUTION_COLUMNS} from org_model_draft_resolution
   where tenant_id = $1::uuid and draft_version_id = $2::uuid
     and issue_key in (select k from jsonb_array_elements_text($3::jsonb) k)
   order by id for update`,
)
