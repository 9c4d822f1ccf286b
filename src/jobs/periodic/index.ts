export { type Firing, nextFirings } from './firings.ts'
export { slotOfJob } from './operate.ts'
export { readSchedules, type ScheduleRow, type ScheduleRun } from './read.ts'
export {
  defineSchedule,
  type DstGap,
  type DstOverlap,
  type MissedPolicy,
  type OverlapPolicy,
  type Schedule,
  type ScheduleOptions,
  type ScheduleTiming,
} from './schedule.ts'
export { overdueMs } from './overdue.ts'
