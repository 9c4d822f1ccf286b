import type { JobDefinition } from '../../jobs/index.ts'
import type { Call } from '../call.ts'
import { activateDraft, type ActivateDraftInput } from './activation/activate.ts'
import type { Activation } from './activation/activation.ts'
import { discardDraft, type DiscardDraftInput } from './activation/discard.ts'
import type { Activatability } from './impact/can-activate.ts'
import { compose } from './impact/composition.ts'
import { canActivate, evaluateDraft } from './impact/evaluate-draft.ts'
import type { Evaluator } from './impact/evaluator.ts'
import { EVALUATORS } from './impact/evaluators/index.ts'
import type { EvaluationWithIssues } from './impact/fresh-evaluation.ts'
import type { AnyResolutionAction } from './resolutions/action.ts'
import { ACTIONS } from './resolutions/actions/index.ts'
import { cancelResolution, retryResolution, type ResolutionRequest } from './resolutions/cancel.ts'
import type { Resolution } from './resolutions/resolution.ts'
import { resolutionJob, type ResolutionJobPayload } from './resolutions/resolution-job.ts'
import type { SubmittedResolution } from './resolutions/file-choices.ts'
import { submitResolutions, type SubmitResolutionsInput } from './resolutions/submit.ts'
import type { OrgModelVersion } from './versions/version.ts'

export interface DraftsOptions {
  /** What other domains look for, beside the organisation's own evaluators. */
  readonly evaluators?: readonly Evaluator[]
  /** What other domains can repair, beside the organisation's own actions. */
  readonly actions?: readonly AnyResolutionAction[]
  /** Waits between the attempts of a resolution, in milliseconds. Default 15 s, 60 s, 300 s. */
  readonly retryDelaysMs?: readonly number[]
  /** How long an attempt waits for something that is being written. Default 3 s. */
  readonly lockTimeoutMs?: number
}

/** What can be done with a draft, over the evaluators and actions that this process knows. */
export interface Drafts {
  evaluateDraft(call: Call): Promise<EvaluationWithIssues>
  canActivate(call: Call, options?: { readonly bringUpToDate?: boolean }): Promise<Activatability>
  submitResolutions(call: Call, input: SubmitResolutionsInput): Promise<readonly SubmittedResolution[]>
  cancelResolution(call: Call, request: ResolutionRequest): Promise<Resolution>
  retryResolution(call: Call, request: ResolutionRequest): Promise<Resolution>
  activateDraft(call: Call, input: ActivateDraftInput): Promise<Activation>
  discardDraft(call: Call, input: DiscardDraftInput): Promise<OrgModelVersion>
  /** For the worker threads, which compose the same. */
  readonly resolutionJob: JobDefinition<ResolutionJobPayload>
}

/**
 * Puts the drafts together, once per process and thread. @throws Error when two parts have one name or a proposed
 * action has no handler, so that the process does not start (C21).
 */
export function composeDrafts(options: DraftsOptions = {}): Drafts {
  const composition = compose({
    evaluators: [...EVALUATORS, ...(options.evaluators ?? [])],
    actions: [...ACTIONS, ...(options.actions ?? [])],
  })
  const job = resolutionJob(composition, {
    ...(options.retryDelaysMs === undefined ? {} : { delaysMs: options.retryDelaysMs }),
    ...(options.lockTimeoutMs === undefined ? {} : { lockTimeoutMs: options.lockTimeoutMs }),
  })
  return {
    evaluateDraft: (call) => evaluateDraft(composition, call),
    canActivate: (call, how) => canActivate(composition, call, how),
    submitResolutions: (call, input) => submitResolutions(composition, job, call, input),
    cancelResolution,
    retryResolution: (call, request) => retryResolution(composition, job, call, request),
    activateDraft: (call, input) => activateDraft(composition, call, input),
    discardDraft,
    resolutionJob: job,
  }
}
