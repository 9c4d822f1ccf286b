import type { Database } from '../../database/index.ts'
import type { By } from './act.ts'

/** What a pause needs. */
export interface PauseParts {
  readonly database: Database
}

/**
 * Nothing of the type is claimed any more, in any process; what runs goes on. Audited, and said to whoever watches the
 * types.
 *
 * @throws NotFoundError for a type that no process has declared
 * @throws ConflictError `job.type_paused` when it is paused already
 */
export async function pauseType(_parts: PauseParts, _type: string, _by: By): Promise<{ actId: string }> {
  throw new Error('being written')
}

/** @throws NotFoundError, ConflictError `job.type_not_paused` */
export async function resumeType(_parts: PauseParts, _type: string, _by: By): Promise<{ actId: string }> {
  throw new Error('being written')
}

/** @throws NotFoundError, ConflictError `job.schedule_paused` */
export async function pauseSchedule(_parts: PauseParts, _schedule: string, _by: By): Promise<{ actId: string }> {
  throw new Error('being written')
}

/** @throws NotFoundError, ConflictError `job.schedule_not_paused` */
export async function resumeSchedule(_parts: PauseParts, _schedule: string, _by: By): Promise<{ actId: string }> {
  throw new Error('being written')
}

/** Fires the schedule now, beside its slots. @throws NotFoundError, ConflictError */
export async function runScheduleNow(
  _parts: PauseParts,
  _schedule: string,
  _by: By,
): Promise<{ actId: string; jobId: string | null }> {
  throw new Error('being written')
}
