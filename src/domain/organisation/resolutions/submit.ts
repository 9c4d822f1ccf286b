import { statement, type Tx } from '../../../database/index.ts'
import { ConflictError } from '../../../errors/index.ts'
import { cancelJobs, type JobDefinition } from '../../../jobs/index.ts'
import { mustBeAllowed } from '../../../viewer/index.ts'
import type { Call } from '../../call.ts'
import { idempotencyKeyOf } from '../../idempotency-key.ts'
import { actOf } from '../act.ts'
import { canonicalId } from '../ids.ts'
import type { Composition } from '../impact/composition.ts'
import { freshEvaluation } from '../impact/fresh-evaluation.ts'
import { loadContext, type Compared } from '../impact/load-context.ts'
import { canonicalJson, sha256 } from '../model/canonical.ts'
import { DraftChangedError } from '../versions/errors.ts'
import { lockVersions } from '../versions/lock.ts'
import { writeTransaction } from '../write-transaction.ts'
import {
  checkChoices,
  readChoices,
  type CheckedChoice,
  type Choice,
  type ResolutionInput,
  type Standing,
} from './check-submission.ts'
import { answerTo, claimKey, keepAnswer } from './answered-requests.ts'
import { batchError, noDraftToResolve } from './errors.ts'
import { fileChoices, type SubmittedResolution } from './file-choices.ts'
import type { ResolutionJobPayload } from './resolution-job.ts'

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

const MOST_IN_BATCH = 100
/** Of one draft at a time (C29). */
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
  const key = idempotencyKeyOf(input)
  const hash = sha256(canonicalJson(choices.map(({ index: _, ...choice }) => choice)))

  return writeTransaction(call, async (tx) => {
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
    const answer = await fileChoices(tx, submission)
    if (key !== null) await keepAnswer(tx, key, answer)
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
