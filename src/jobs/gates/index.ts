export { forgetFullBuckets } from './rate.ts'
export { waitingBecause, type WaitingReason } from './waiting-because.ts'
