import { statement, type Tx } from '../../../database/index.ts'
import { ConflictError } from '../../../errors/index.ts'
import { cancelJobs, enqueueMany, type JobDefinition } from '../../../jobs/index.ts'
import { createdMany, transitionMany, type Act } from '../../../transitions/index.ts'
import { mustBeAllowed } from '../../../viewer/index.ts'
import type { Call } from '../../call.ts'
import { actOf } from '../act.ts'
import { bumpDownstream } from '../clock.ts'
import { canonicalId, newId } from '../ids.ts'
import type { Composition } from '../impact/composition.ts'
import { freshEvaluation } from '../impact/fresh-evaluation.ts'
import { loadContext, type Compared } from '../impact/load-context.ts'
import { canonicalJson, sha256 } from '../model/canonical.ts'
import { DraftChangedError } from '../versions/errors.ts'
import { lockVersions } from '../versions/lock.ts'
import {
  checkChoices,
  readChoices,
  type CheckedChoice,
  type Choice,
  type ResolutionInput,
  type Standing,
} from './check-submission.ts'
import { batchError, idempotencyConflict, noDraftToResolve, ResolutionsInvalidError } from './errors.ts'
import { resolutionLifecycle } from './lifecycle.ts'
import { eventData, RESOLUTION_COLUMNS, type Resolution } from './resolution.ts'
import type { ResolutionJobPayload } from './resolution-job.ts'
import { withdrawEffects } from './stage-effects.ts'

export interface SubmitResolutionsInput {
  /** 1 to 100; all are taken or none. */
  readonly resolutions: readonly ResolutionInput[]
  /** Guards against a draft that was discarded and opened anew meanwhile (C37). */
  readonly expectedDraftVersionId?: string | null
  /** Guards against a draft that was edited meanwhile. */
  readonly expectedContentRevision?: number | null
  /** The same key with the same request gives the same answer and no new job. */
  readonly idempotencyKey?: string | null
}

/** One answer per choice, in the order of the request. */
export interface SubmittedResolution {
  readonly resolutionId: string
  readonly issueCode: string
  readonly affectedEntityId: string | null
  readonly jobId: string
  readonly submissionNo: number
}

const MOST_IN_BATCH = 100
/** Of one issue, and of one draft at a time: whoever resubmits this often is a loop (C29). */
const MOST_SUBMISSIONS = 100
const MOST_IN_FLIGHT = 1_000

/**
 * Takes the chosen actions, all or none, and schedules a job for each. What was chosen for the same issue before
 * is replaced, whatever its status; its job can change nothing any more.
 * @throws ForbiddenError, ValidationError, ResolutionsInvalidError, ConflictError, DraftChangedError
 */
export async function submitResolutions(
  composition: Composition,
  job: JobDefinition<ResolutionJobPayload>,
  call: Call,
  input: SubmitResolutionsInput,
): Promise<readonly SubmittedResolution[]> {
  mustBeAllowed(call.viewer, 'orgmodel.resolve')
  if (input.resolutions.length === 0) throw batchError('empty_batch', 'Give at least one resolution.')
  if (input.resolutions.length > MOST_IN_BATCH)
    throw batchError('batch_too_large', `Give at most ${MOST_IN_BATCH} resolutions at a time.`)
  const choices = readChoices(input.resolutions)
  const key = input.idempotencyKey ?? null
  const hash = sha256(canonicalJson(choices.map(({ index: _, ...choice }) => choice)))

  return call.database.transaction(call.viewer.tenantId, async (tx) => {
    const answered = key === null ? null : await answerTo(tx, key, hash)
    if (answered !== null) return answered
    const act = actOf(call.viewer)
    // Jobs before versions before resolutions: the order of a worker. A running job is left alone: it would make
    // us wait for its action, and the submission number keeps it from changing anything.
    const waiting = await tx.query(WAITING_JOBS, [JSON.stringify(choices.map(({ issueKey }) => issueKey))])
    await cancelJobs(tx, {
      tenantId: tx.tenantId,
      jobIds: waiting.map(({ jobId }) => jobId),
      reason: 'orgmodel.resolution.superseded',
      actor: act.actor,
    })
    const { active, draft } = await lockVersions(tx, 'share')
    if (draft === null) throw noDraftToResolve()
    mustBeExpected(draft, input)
    if (key !== null && !(await claimKey(tx, key, hash, draft.id))) return (await answerTo(tx, key, hash))!

    const checked = await check(tx, composition, { active, draft }, choices)
    const submission = { checked, draft, act, key, job, maxAttempts: job.policy?.maxAttempts ?? 1 }
    const answer = await replaceOrCreate(tx, submission)
    if (key !== null) await tx.query(KEEP_ANSWER, [key, JSON.stringify(answer)])
    return answer
  })
}

function mustBeExpected(draft: Compared['draft'], input: SubmitResolutionsInput): void {
  const { expectedDraftVersionId: id, expectedContentRevision: revision } = input
  if (id != null && canonicalId(id) !== draft.id) throw new DraftChangedError(draft, ['expectedDraftVersionId'])
  if (revision != null && revision !== draft.contentRevision)
    throw new DraftChangedError(draft, ['expectedContentRevision'])
}

async function check(
  tx: Tx,
  composition: Composition,
  versions: Compared,
  choices: readonly Choice[],
): Promise<CheckedChoice[]> {
  const { issues } = await freshEvaluation(tx, composition, versions, 'SUBMIT')
  const standing = await tx.query(STANDING, [versions.draft.id])
  const checked = checkChoices(choices, composition, issues, await loadContext(tx, versions), standing)
  const inFlight = standing.filter(({ status }) => status !== 'COMPLETED').length
  if (inFlight + checked.length > MOST_IN_FLIGHT)
    throw new ConflictError(`${inFlight} resolutions are on their way already. Wait until some of them are done.`, {
      code: 'orgmodel.resolution.too_many_in_flight',
    })
  return checked
}

interface Submission {
  readonly checked: readonly CheckedChoice[]
  readonly draft: Compared['draft']
  readonly act: Act
  readonly key: string | null
  readonly job: JobDefinition<ResolutionJobPayload>
  readonly maxAttempts: number
}

/**
 * An upsert on (draft, issue) in the two steps that its event needs: insert what is new, then lock and transition
 * what was there. In order of the key, so that two batches wait for each other instead of deadlocking.
 */
async function replaceOrCreate(tx: Tx, submission: Submission): Promise<SubmittedResolution[]> {
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

async function answerTo(tx: Tx, key: string, hash: string): Promise<readonly SubmittedResolution[] | null> {
  const [before] = await tx.query(ANSWERED, [key])
  if (before === undefined) return null
  if (before.requestHash !== hash) throw idempotencyConflict()
  return before.answer
}

async function claimKey(tx: Tx, key: string, hash: string, draftId: string): Promise<boolean> {
  return (await tx.query(CLAIM_KEY, [key, hash, draftId])).length > 0
}

const WAITING_JOBS = statement<{ jobId: string }>(
  'organisation.resolutions.waiting_jobs',
  `select r.job_id as "jobId"
   from org_model_draft_resolution r
   join org_model_version v on v.tenant_id = r.tenant_id and v.id = r.draft_version_id and v.status = 'DRAFT'
   where r.tenant_id = $1::uuid and r.status = 'PENDING'
     and r.issue_key in (select k from jsonb_array_elements_text($2::jsonb) k)`,
)

const STANDING = statement<Standing>(
  'organisation.resolutions.standing',
  `select issue_key as "issueKey", affected_entity_id as "affectedEntityId", chosen_action_type as "actionType", status
   from org_model_draft_resolution
   where tenant_id = $1::uuid and draft_version_id = $2::uuid and status <> 'FAILED'`,
)

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

const ANSWERED = statement<{ requestHash: string; answer: readonly SubmittedResolution[] }>(
  'organisation.submission.find',
  `select request_hash::text as "requestHash", answer from org_model_submission
   where tenant_id = $1::uuid and idempotency_key = $2`,
)

// Of two with the same key at once, the second waits here for the first and then finds its answer.
const CLAIM_KEY = statement<{ claimed: boolean }>(
  'organisation.submission.claim',
  `insert into org_model_submission (tenant_id, idempotency_key, request_hash, draft_version_id, answer)
   values ($1::uuid, $2, $3, $4::uuid, '[]')
   on conflict do nothing
   returning true as claimed`,
)

const KEEP_ANSWER = statement<unknown>(
  'organisation.submission.keep',
  `update org_model_submission set answer = $3::jsonb where tenant_id = $1::uuid and idempotency_key = $2`,
)
