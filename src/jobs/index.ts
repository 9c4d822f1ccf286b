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
  type JobResult,
  type JobStatus,
} from './definition.ts'
export { cancelJobs, type CancelRequest } from './cancel.ts'
export { enqueue, enqueueMany, type EnqueuedJob, type EnqueueRequest } from './enqueue.ts'
export { PayloadError } from './payload.ts'
