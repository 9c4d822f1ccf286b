import { statement, type Queryable } from '../../database/index.ts'
import { ConflictError } from '../../errors/index.ts'
import type { JobRegistry } from '../registry.ts'
import { makeRoom, writeSlots } from './fire.ts'
import { LOCK_SCHEDULE } from './sql/due-schedules.ts'
import { SLOT_OF_JOB } from './sql/slots.ts'

/** What an act of an operator changes about a schedule. */
export interface ScheduleState {
  readonly nextSlot: Date | null
  readonly pausedAt: Date | null
  readonly pausedBy: string | null
  readonly pausedReason: string | null
}

/** Locks a schedule for an act. Null when there is none of that name, or it is done on the spot, which nothing stops. */
export async function lockSchedule(tx: Queryable, name: string): Promise<ScheduleState | null> {
  if ((await tx.run(LOCK_SCHEDULE, [name])).length === 0) return null
  return (await tx.run(STATE, [name]))[0]!
}

/** Nothing fires any more, in any process; jobs that were fired go on. The schedule is locked (`lockSchedule`). */
export async function markSchedulePaused(tx: Queryable, name: string, by: string, reason: string): Promise<void> {
  await tx.run(PAUSE, [name, by, reason])
}

/** Fires again. Slots that passed meanwhile follow the schedule's missed-run policy. */
export async function markScheduleResumed(tx: Queryable, name: string): Promise<void> {
  await tx.run(RESUME, [name])
}

export interface RunNow {
  /** OVERLAP: the schedule lets no second run start beside the one that is going on. */
  readonly outcome: 'FIRED' | 'OVERLAP'
  readonly slot: Date
  /** Null unless fired. */
  readonly jobId: string | null
}

/**
 * Fires a schedule now, beside its slots and also while it is paused, in the caller's transaction. Null when there is
 * no such schedule, or it is done on the spot.
 *
 * @throws ConflictError `job.type_unknown_here` when the job of the schedule is not among the registry's
 */
export async function fireNow(
  tx: Queryable,
  registry: JobRegistry,
  name: string,
  { by, correlationId }: { readonly by: string; readonly correlationId: string },
): Promise<RunNow | null> {
  const [schedule] = await tx.run(LOCK_SCHEDULE, [name])
  if (schedule === undefined) return null
  if (!registry.types.includes(schedule.jobType))
    throw new ConflictError(
      `No release that runs here knows the job type "${schedule.jobType}" of this schedule. Run it from one that does.`,
      { code: 'job.type_unknown_here' },
    )
  const outcome = (await makeRoom(tx, schedule, by)) ? 'FIRED' : 'OVERLAP'
  // Two runs by hand within one millisecond, or one on a slot's very millisecond, take the next one that is free.
  const [free] = await tx.run(FREE_SLOT, [name, schedule.now])
  const { slot } = free!
  const [fired] = await writeSlots(tx, registry, schedule, {
    slots: [{ slot, outcome }],
    correlationId: () => correlationId,
    workerId: null,
    runBy: by,
  })
  return { outcome, slot, jobId: fired?.jobId ?? null }
}

/** Which firing a job is: for a handler whose work depends on its slot. Null for a job that no schedule fired. */
export async function slotOfJob(
  on: Queryable,
  jobId: string,
): Promise<{ readonly schedule: string; readonly slot: Date } | null> {
  return (await on.run(SLOT_OF_JOB, [jobId]))[0] ?? null
}

const STATE = statement<ScheduleState>(
  'jobs.schedule_state',
  `select next_slot as "nextSlot", paused_at as "pausedAt", paused_by as "pausedBy", paused_reason as "pausedReason"
  from job_schedule where name = $1`,
)

const PAUSE = statement<never>(
  'jobs.pause_schedule',
  `update job_schedule set paused_at = clock_timestamp(), paused_by = $2, paused_reason = $3 where name = $1`,
)

const RESUME = statement<never>(
  'jobs.resume_schedule',
  'update job_schedule set paused_at = null, paused_by = null, paused_reason = null where name = $1',
)

const FREE_SLOT = statement<{ slot: Date }>(
  'jobs.free_slot',
  `select coalesce(max(slot) + interval '1 millisecond', $2::timestamptz(3)) as slot
  from job_slot where schedule = $1 and slot >= $2::timestamptz(3)`,
)
