import type { Queryable } from '../../database/index.ts'
import type { By, OperatingParts } from '../operating/act.ts'
import type { BulkResult } from '../operating/bulk.ts'

export interface CancelBatchRequest {
  readonly tenantId: string | null
  readonly batchId: string
  readonly reason: string
  readonly actor: string
}

/**
 * Cancels, in the caller's transaction, every job of the batch that waits, and asks those that run to stop. From then
 * on nothing can be enqueued into it and none of its failed jobs can be retried. For the domain that owns the batch
 * and writes its own rows itself: `onOutcome` is not called for jobs that waited.
 *
 * @throws NotFoundError when the tenant has no such batch; one that is cancelled already stays so, without an error
 */
export async function cancelBatch(
  _tx: Queryable,
  _request: CancelBatchRequest,
): Promise<{ cancelled: string[]; signalled: string[] }> {
  throw new Error('being written')
}

/** The operators' way: audited, the domains told, in transactions of at most 500 jobs; again with the same id goes on. */
export async function cancelBatchByOperator(
  _parts: OperatingParts,
  _request: { readonly batchId: string; readonly bulkId: string },
  _by: By,
): Promise<BulkResult> {
  throw new Error('being written')
}
