import { statement } from '../../../database/index.ts'
import type { IssueBasis } from '../impact/issue.ts'
import type { Effect } from './action.ts'
import type { ResolutionStatus } from './lifecycle.ts'

/** The action chosen for one issue of a draft, and how far it is. */
export interface Resolution {
  readonly id: string
  readonly draftVersionId: string
  readonly issueKey: string
  readonly issueCode: string
  readonly affectedEntityId: string | null
  /** What the affected thing was called when the choice was made. */
  readonly affectedLabel: string | null
  readonly fingerprint: string
  readonly basis: IssueBasis
  /** Content revision of the draft on which the choice was made. */
  readonly contentRevision: number
  readonly actionType: string
  /** JSON text, as it was given. */
  readonly actionPayload: string | null
  readonly effect: Effect
  readonly status: ResolutionStatus
  readonly version: number
  /** 1 for the first submission; one more each time. */
  readonly submissionNo: number
  readonly jobId: string
  /** Attempts of this submission that have begun. */
  readonly attempt: number
  readonly maxAttempts: number
  readonly nextAttemptAt: Date | null
  readonly lastAttemptError: string | null
  readonly lastAttemptCode: string | null
  readonly scheduledAt: Date
  readonly processingStartedAt: Date | null
  readonly executedAt: Date | null
  readonly error: string | null
  readonly errorCode: string | null
  readonly submittedBy: string
  readonly correlationId: string
}

/** Between two attempts: PENDING, but not for the first time. */
export const isRetrying = ({ status, attempt }: Pick<Resolution, 'status' | 'attempt'>): boolean =>
  status === 'PENDING' && attempt > 0

export const RESOLUTION_COLUMNS = `id::text, draft_version_id::text as "draftVersionId", issue_key as "issueKey",
  issue_code as "issueCode", affected_entity_id as "affectedEntityId", affected_label as "affectedLabel",
  issue_fingerprint::text as fingerprint, issue_basis as basis, content_revision::float8 as "contentRevision",
  chosen_action_type as "actionType", action_payload as "actionPayload", effect, status, version,
  submission_no as "submissionNo", job_id as "jobId", attempt_no as attempt, max_attempts as "maxAttempts",
  next_attempt_at as "nextAttemptAt", last_attempt_error as "lastAttemptError",
  last_attempt_code as "lastAttemptCode", scheduled_at as "scheduledAt",
  processing_started_at as "processingStartedAt", executed_at as "executedAt", error, error_code as "errorCode",
  submitted_by as "submittedBy", correlation_id as "correlationId"`

/** Some resolutions by id, in order of id. */
export const BY_IDS = statement<Resolution>(
  'organisation.resolutions.by_ids',
  `select ${RESOLUTION_COLUMNS} from org_model_draft_resolution
   where tenant_id = $1::uuid and id in (select i::uuid from jsonb_array_elements_text($2::jsonb) i)
   order by id`,
)

/** As `BY_IDS`, held until the transaction ends. */
export const BY_IDS_FOR_UPDATE = statement<Resolution>('organisation.resolutions.lock', `${BY_IDS.text} for update`)

/** What every event of a resolution tells, so that a list can show the change without reading again. */
export const eventData = (
  resolution: Pick<
    Resolution,
    'draftVersionId' | 'issueKey' | 'issueCode' | 'affectedEntityId' | 'affectedLabel' | 'actionType'
  >,
  now: {
    readonly submissionNo: number
    readonly attempt: number
    readonly maxAttempts: number
    readonly nextAttemptAt?: Date | null
    readonly errorCode?: string | null
    readonly error?: string | null
  },
): Readonly<Record<string, unknown>> => ({
  draftVersionId: resolution.draftVersionId,
  issueKey: resolution.issueKey,
  issueCode: resolution.issueCode,
  affectedEntityId: resolution.affectedEntityId,
  affectedLabel: resolution.affectedLabel,
  actionType: resolution.actionType,
  submissionNo: now.submissionNo,
  attempt: now.attempt,
  maxAttempts: now.maxAttempts,
  nextAttemptAt: now.nextAttemptAt ?? null,
  errorCode: now.errorCode ?? null,
  error: now.error ?? null,
})
