export {
  actOnJob,
  JOB_ACTS,
  JobActRefusedError,
  type ActedJob,
  type By,
  type JobAct,
  type OperatingParts,
} from './act.ts'
export { evaluateAlerts, jobAlerts, type JobAlerts } from './alerts.ts'
export { listActs, type ActFilter, type ActPage, type ActPageRequest, type ActRow } from './audit.ts'
export {
  holdDueJobs,
  MOST_JOBS_IN_BULK,
  previewBulk,
  runBulk,
  type BulkPreview,
  type BulkRequest,
  type BulkResult,
} from './bulk.ts'
export { countJobs, rollUpCounts, summariseFinished, type CountFilter, type JobCount } from './counts.ts'
export type { JobFilter, JobPage, JobPageRequest, JobRow } from './job-row.ts'
export { jobsById, listJobs, redactedPayload } from './list.ts'
export { pauseSchedule, pauseType, resumeSchedule, resumeType, runScheduleNow } from './pause.ts'
