import { v7 as uuidv7 } from 'uuid'
import type { Queryable } from '../../database/index.ts'
import { cancelJobs } from '../cancel.ts'
import { enqueueMany } from '../enqueue.ts'
import type { JobRegistry } from '../registry.ts'
import { dueSlots } from './due-slots.ts'
import type { ScheduleRun } from './read.ts'
import { LOCK_DUE, type LockedSchedule, MOVE_ON } from './sql/due-schedules.ts'
import { OPEN_RUNS, TAKEN_SLOTS, WRITE_SLOTS } from './sql/slots.ts'

export interface FiredJob {
  readonly slot: Date
  readonly jobId: string
}

export interface Fired {
  readonly jobs: readonly FiredJob[]
  readonly missed: readonly Date[]
  /** Kept from running by an earlier run. */
  readonly overlapped: readonly Date[]
}

/**
 * Fires what is due of one schedule, in the caller's transaction: the slots, their jobs and the next slot come to be
 * together or not at all. Null when there is nothing to do any more.
 */
export async function fireDue(
  tx: Queryable,
  registry: JobRegistry,
  name: string,
  workerId: string,
): Promise<Fired | null> {
  const [schedule] = await tx.run(LOCK_DUE, [name, registry.types])
  if (schedule === undefined) return null
  const due = dueSlots(schedule, schedule.nextSlot, schedule.now)
  const { missed, next } = due
  // No earlier run gives way to one that has been already.
  const fire = await notTaken(tx, name, due.fire)
  const room = fire.length > 0 && (await makeRoom(tx, schedule, 'system'))
  const run = fire.map((slot) => ({ slot, outcome: room ? ('FIRED' as const) : ('OVERLAP' as const) }))
  const jobs = await writeSlots(tx, registry, schedule, {
    slots: [...missed.map((slot) => ({ slot, outcome: 'MISSED' as const })), ...run],
    correlationId: (slot) => correlationIdOf(name, slot),
    workerId,
    runBy: null,
  })
  await tx.run(MOVE_ON, [name, next])
  return { jobs, missed, overlapped: room ? [] : fire }
}

async function notTaken(tx: Queryable, schedule: string, slots: readonly Date[]): Promise<readonly Date[]> {
  if (slots.length === 0) return slots
  const asked = slots.map((slot) => slot.toISOString())
  const taken = new Set((await tx.run(TAKEN_SLOTS, [schedule, asked])).map(({ slot }) => slot.getTime()))
  return slots.filter((slot) => !taken.has(slot.getTime()))
}

/** What `^[\w.:-]+$` allows, so that it passes through headers too. */
export const correlationIdOf = (schedule: string, slot: Date): string => `${schedule}:${slot.toISOString()}`

export interface NewSlots {
  readonly slots: readonly { readonly slot: Date; readonly outcome: ScheduleRun['outcome'] }[]
  readonly correlationId: (slot: Date) => string
  readonly workerId: string | null
  readonly runBy: string | null
}

/** Writes the slots and enqueues a job for each that is fired and that nobody had written; answers with those. */
export async function writeSlots(
  tx: Queryable,
  registry: JobRegistry,
  schedule: LockedSchedule,
  { slots, correlationId, workerId, runBy }: NewSlots,
): Promise<FiredJob[]> {
  const rows = slots.map(({ slot, outcome }) => ({ slot, outcome, jobId: outcome === 'FIRED' ? uuidv7() : null }))
  const written = await tx.run(WRITE_SLOTS, [schedule.name, JSON.stringify(rows), workerId, runBy])
  const fired = written.flatMap(({ slot, jobId }) => (jobId === null ? [] : [{ slot, jobId }]))
  await enqueueMany(
    tx,
    registry.get(schedule.jobType),
    fired.map(({ slot, jobId }) => ({
      jobId,
      tenantId: null,
      payload: schedule.payload,
      correlationId: correlationId(slot),
      triggeredBy: runBy ?? 'system',
    })),
  )
  return fired
}

/** Whether a new run may start, after earlier ones have given way as the schedule's overlap policy says. */
export async function makeRoom(tx: Queryable, { name, overlap }: LockedSchedule, actor: string): Promise<boolean> {
  const earlier = await tx.run(OPEN_RUNS, [name])
  if (overlap === 'ALLOW' || earlier.length === 0) return true
  if (overlap === 'SKIP' && earlier.some((run) => !run.ours || run.status === 'PROCESSING')) return false
  await cancelJobs(tx, {
    tenantId: null,
    jobIds: earlier.map(({ jobId }) => jobId),
    reason: 'The next run of its schedule has begun.',
    actor,
  })
  return true
}
