export { appendTypeEvent, type TypeEvent } from './operator-event.ts'
export { plannedAttempts, type PlannedAttempt } from './planned-attempts.ts'
export { readTypes, type TypeBreaker, type TypePolicy, type TypeRow } from './read-types.ts'
export { typesWithoutWorker } from './without-worker.ts'
