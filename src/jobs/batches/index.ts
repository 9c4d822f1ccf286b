export {
  batchesById,
  countsOfBatches,
  createBatch,
  listBatches,
  type BatchFilter,
  type BatchPage,
  type BatchPageRequest,
  type JobBatch,
  type NewBatch,
} from './batch.ts'
export { cancelBatch, cancelBatchByOperator, type CancelBatchRequest } from './cancel-batch.ts'
export { joinBatches } from './join.ts'
