export { appendEvents } from './append.ts'
export type { LogEvent, LogPosition, NewEvent } from './event.ts'
