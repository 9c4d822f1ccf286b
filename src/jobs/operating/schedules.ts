import type { OperatingParts } from './act.ts'
import type { By } from './by.ts'

/** @throws NotFoundError, ValidationError, ConflictError `job.schedule_paused` */
export async function pauseSchedule(_parts: OperatingParts, _schedule: string, _by: By): Promise<{ actId: string }> {
  throw new Error('being written')
}

/** @throws NotFoundError, ValidationError, ConflictError `job.schedule_not_paused` */
export async function resumeSchedule(_parts: OperatingParts, _schedule: string, _by: By): Promise<{ actId: string }> {
  throw new Error('being written')
}

/** Fires the schedule now, beside its slots. @throws NotFoundError, ConflictError */
export async function runScheduleNow(
  _parts: OperatingParts,
  _schedule: string,
  _by: By,
): Promise<{ actId: string; jobId: string | null }> {
  throw new Error('being written')
}
