import type { FailureClass } from '../errors/index.ts'
import type { EventLog } from '../events/index.ts'
import type { JobStatus } from './definition.ts'

/** A row of the second log: one attempt that ended, or one act on a job that did not run. Without its stack. */
export interface JobEvent {
  readonly jobId: string
  /** As the column has it: the installation's own jobs stand under the tenant of zeros. */
  readonly tenantId: string
  readonly type: string
  readonly attempt: number
  readonly from: JobStatus
  readonly to: JobStatus
  readonly failureClass: FailureClass | null
  readonly code: string | null
  readonly message: string | null
  readonly reason: string | null
  readonly actor: string
  readonly startedAt: Date | null
  readonly nextAttemptAt: Date | null
  readonly recordedAt: Date
  readonly correlationId: string
}

/** The log that the engine writes; filters in this order: types, statuses, tenants. */
export const JOB_EVENTS: EventLog<JobEvent> = {
  table: 'job_event',
  columns: `e.job_id as "jobId", e.tenant_id as "tenantId", e.type, e.attempt, e."from", e."to",
    e.failure_class as "failureClass", e.code, e.message, e.reason, e.actor, e.started_at as "startedAt",
    e.next_attempt_at as "nextAttemptAt", e.recorded_at as "recordedAt", e.correlation_id as "correlationId"`,
  filters: [
    { column: 'type', type: 'text' },
    { column: '"to"', type: 'text' },
    { column: 'tenant_id', type: 'uuid' },
  ],
}
