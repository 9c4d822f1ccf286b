export { waitingBecause, type WaitingReason } from './waiting-because.ts'
