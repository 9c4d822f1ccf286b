import type { ScheduleRow } from './read.ts'

/**
 * How late the next firing of a schedule is, in milliseconds by the database's clock; 0 while in time, paused, or
 * retired. Of
 * what is done on the spot no next slot is kept: it is the one after the last.
 */
export function overdueMs({ nextSlot, everyMs, lastRun, pausedAt, retired, asOf }: ScheduleRow): number {
  if (pausedAt !== null || retired) return 0
  const next = nextSlot?.getTime() ?? (lastRun === null || everyMs === null ? null : lastRun.slot.getTime() + everyMs)
  return next === null ? 0 : Math.max(0, asOf.getTime() - next)
}
