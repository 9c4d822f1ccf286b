import { ConflictError, NotFoundError } from '../../errors/index.ts'
import {
  fireNow,
  lockSchedule,
  markSchedulePaused,
  markScheduleResumed,
  type ScheduleState,
} from '../periodic/operate.ts'
import type { OperatingParts } from './act.ts'
import { type By, checkedBy } from './by.ts'
import { recordAct, recordingRefusal } from './record.ts'

/**
 * Nothing fires any more, in any process; jobs that were fired go on.
 *
 * @throws NotFoundError for a schedule that no process has declared, or one that is done on the spot
 * @throws ConflictError `job.schedule_paused` when it is paused already
 * @throws ValidationError when the reason is blank or too long
 */
export async function pauseSchedule(parts: OperatingParts, name: string, by: By): Promise<{ actId: string }> {
  return change(parts, name, checkedBy(by), true)
}

/**
 * Fires again; slots that passed meanwhile follow the schedule's missed-run policy.
 *
 * @throws NotFoundError, ValidationError, ConflictError `job.schedule_not_paused`
 */
export async function resumeSchedule(parts: OperatingParts, name: string, by: By): Promise<{ actId: string }> {
  return change(parts, name, checkedBy(by), false)
}

/**
 * Fires the schedule now, beside its slots and also while it is paused.
 *
 * @throws NotFoundError, ValidationError
 * @throws ConflictError `job.schedule_running` when an earlier run is still going on and the schedule allows one only,
 * `job.type_unknown_here` when no release here knows its job
 */
export async function runScheduleNow(
  { database, registry }: OperatingParts,
  name: string,
  givenBy: By,
): Promise<{ actId: string; jobId: string | null }> {
  const by = checkedBy(givenBy)
  const tried = { ...by, act: 'RUN_SCHEDULE', schedule: name }
  const run = () =>
    database.systemTransaction(async (tx) => {
      const run = await fireNow(tx, registry, name, { by: by.actor, correlationId: by.correlationId })
      if (run === null) throw noSuchSchedule()
      if (run.outcome === 'OVERLAP')
        throw new ConflictError('An earlier run is still going on, and this schedule allows one at a time.', {
          code: 'job.schedule_running',
        })
      const after = { slot: run.slot, jobId: run.jobId }
      const acted = await recordAct(tx, { ...tried, after })
      return { ...acted, jobId: run.jobId }
    })
  return recordingRefusal(database, tried, run)
}

function change({ database }: OperatingParts, name: string, by: By, pause: boolean): Promise<{ actId: string }> {
  const tried = { ...by, act: pause ? 'PAUSE_SCHEDULE' : 'RESUME_SCHEDULE', schedule: name }
  const change = () =>
    database.systemTransaction(async (tx) => {
      const was = await lockSchedule(tx, name)
      if (was === null) throw noSuchSchedule()
      if ((was.pausedAt !== null) === pause)
        throw pause
          ? new ConflictError(`The schedule is paused already, by ${was.pausedBy}.`, { code: 'job.schedule_paused' })
          : new ConflictError('The schedule is not paused.', { code: 'job.schedule_not_paused' })
      if (pause) await markSchedulePaused(tx, name, by.actor, by.reason)
      else await markScheduleResumed(tx, name)
      return recordAct(tx, { ...tried, before: pauseOf(was), after: { paused: pause } })
    })
  return recordingRefusal(database, tried, change)
}

const pauseOf = ({ pausedAt, pausedBy, pausedReason, nextSlot }: ScheduleState) => ({
  paused: pausedAt !== null,
  by: pausedBy,
  reason: pausedReason,
  nextSlot,
})

const noSuchSchedule = () => new NotFoundError('The schedule', { code: 'job.schedule_not_found' })
