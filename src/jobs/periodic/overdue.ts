import type { ScheduleRow } from './read.ts'

/** How late the next firing of a schedule is, in milliseconds by the database's clock; 0 while in time or paused. */
export const overdueMs = ({ nextSlot, pausedAt, asOf }: ScheduleRow): number =>
  nextSlot === null || pausedAt !== null ? 0 : Math.max(0, asOf.getTime() - nextSlot.getTime())
