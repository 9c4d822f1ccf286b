import type { Queryable } from '../../database/index.ts'
import { NotFoundError } from '../../errors/index.ts'
import { cancelJobs } from '../cancel.ts'
import type { OperatingParts } from '../operating/act.ts'
import { begun, type BulkResult, runBulk } from '../operating/bulk.ts'
import { type By, checkedBy } from '../operating/by.ts'
import { recordAct } from '../operating/record.ts'
import { CANCEL_BATCH, LIVE_OF_BATCH } from '../sql/batches.ts'
import { INSTALLATION, toTenantColumn } from '../tenant.ts'

export interface CancelBatchRequest {
  readonly tenantId: string | null
  readonly batchId: string
  readonly reason: string
  readonly actor: string
}

/** Most jobs in one statement. */
const CHUNK = 1_000

/**
 * Cancels, in the caller's transaction, every job of the batch that waits, and asks those that run to stop. From then
 * on nothing can be enqueued into it and none of its failed jobs can be retried. For the domain that owns the batch
 * and writes its own rows itself: `onOutcome` is not called for jobs that waited.
 *
 * @throws NotFoundError when the tenant has no such batch; one that is cancelled already stays so, without an error
 */
export async function cancelBatch(
  tx: Queryable,
  { tenantId, batchId, reason, actor }: CancelBatchRequest,
): Promise<{ cancelled: string[]; signalled: string[] }> {
  const [batch] = await tx.run(CANCEL_BATCH, [batchId, toTenantColumn(tenantId), actor, reason])
  if (batch === undefined) throw noSuchBatch()
  const cancelled: string[] = []
  const signalled: string[] = []
  // A statement after the one that locked the batch, so that it sees whatever was put into it until then.
  for (let after = INSTALLATION; ; ) {
    const jobs = await tx.run(LIVE_OF_BATCH, [batchId, after, CHUNK])
    const some = await cancelJobs(tx, { tenantId, jobIds: jobs.map(({ id }) => id), reason, actor })
    cancelled.push(...some.cancelled)
    signalled.push(...some.signalled)
    if (jobs.length < CHUNK) return { cancelled, signalled }
    after = jobs.at(-1)!.id
  }
}

/**
 * The operators' way: audited, the domains told, in transactions of at most 500 jobs. The batch itself is cancelled
 * first and at once. The same `bulkId` again goes on where it stopped; when the answer says `more`, call it again
 * with a new one.
 *
 * @throws NotFoundError, ValidationError (path `reason`), ConflictError `job.bulk_id_reused` before anything is done
 */
export async function cancelBatchByOperator(
  parts: OperatingParts,
  { batchId, bulkId }: { readonly batchId: string; readonly bulkId: string },
  givenBy: By,
): Promise<BulkResult> {
  const by = checkedBy(givenBy)
  const cancelling = { bulkId, act: 'CANCEL', filter: { batchId } } as const
  await begun(parts, cancelling)
  await parts.database.systemTransaction(async (tx) => {
    const [batch] = await tx.run(CANCEL_BATCH, [batchId, null, by.actor, by.reason])
    if (batch === undefined) throw noSuchBatch()
    if (!batch.now) return
    const [before, after] = [{ cancelled: false }, { cancelled: true }]
    await recordAct(tx, { ...by, act: 'CANCEL_BATCH', batchId, tenantId: batch.tenantId, before, after })
  })
  return runBulk(parts, cancelling, by)
}

const noSuchBatch = () => new NotFoundError('The batch', { code: 'job.batch_not_found' })
