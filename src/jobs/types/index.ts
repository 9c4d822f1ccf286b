export { appendTypeEvent, type TypeEvent } from './operator-event.ts'
export { policyPreview, type PlannedAttempt, type PolicyPreview } from './policy-preview.ts'
export { readTypes, type TypeBreaker, type TypePolicy, type TypeRow } from './read-types.ts'
export { typesWithoutWorker } from './without-worker.ts'
