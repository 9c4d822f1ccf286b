export { batchDone, type BatchResult, batchResult, type CandidateOutcome, eachCandidate } from './batch-result.ts'
export { cancelJobs, type CancelRequest } from './cancel.ts'
export {
  cancelled,
  defineJob,
  failed,
  notApplicable,
  postponed,
  retryAfter,
  succeeded,
  type BatchedJob,
  type JobClass,
  type JobContext,
  type JobDefinition,
  type JobOutcome,
  type JobPolicy,
  type JobResult,
  type JobStatus,
  type PolicyOverride,
} from './definition.ts'
export { enqueue, enqueueMany, type EnqueuedJob, type EnqueueRequest } from './enqueue.ts'
export { Engine, type EngineOptions } from './engine/engine.ts'
export type { EngineSignal } from './engine/parts.ts'
export { startJobs, type Jobs, type JobsOptions, type JobsStats, type ThreadStats } from './host/index.ts'
export type { JobLogger } from './job-logger.ts'
export { JOB_EVENTS, type JobEvent } from './job-log.ts'
export { PayloadError } from './payload.ts'
export { PolicyRefusedError } from './policy.ts'
export {
  attemptsForOperators,
  attemptsOfJobs,
  type JobAttempt,
  type JobState,
  jobStates,
  MOST_ATTEMPTS,
} from './reads.ts'
export { type AnyJobDefinition, JobRegistry } from './registry.ts'
export { fromTenantColumn, INSTALLATION, toTenantColumn } from './tenant.ts'
export * from './batches/index.ts'
export * from './gates/index.ts'
export * from './operating/index.ts'
export * from './periodic/index.ts'
export * from './types/index.ts'
