import { statement, type Queryable } from '../../database/index.ts'
import { ConflictError, NotFoundError } from '../../errors/index.ts'
import { toTenantColumn } from '../tenant.ts'

interface LockedBatch {
  readonly id: string
  readonly tenantId: string
  readonly cancelled: boolean
}

/**
 * Batches as they are until the caller's transaction ends: whoever cancels one waits for it, and then sees every job
 * that was put into it.
 */
export async function lockBatches(tx: Queryable, batchIds: readonly string[]): Promise<Map<string, LockedBatch>> {
  if (batchIds.length === 0) return new Map()
  const rows = await tx.run(LOCK_BATCHES, [JSON.stringify([...new Set(batchIds)])])
  return new Map(rows.map((row) => [row.id, row]))
}

/**
 * Before jobs are put into batches, in the same transaction.
 *
 * @throws NotFoundError when a job's tenant has no such batch
 * @throws ConflictError `job.batch_cancelled`
 */
export async function joinBatches(
  tx: Queryable,
  joining: readonly { readonly tenantId: string | null; readonly batchId: string }[],
): Promise<void> {
  const batches = await lockBatches(
    tx,
    joining.map(({ batchId }) => batchId),
  )
  for (const { tenantId, batchId } of joining) {
    const batch = batches.get(batchId)
    if (batch === undefined || batch.tenantId !== toTenantColumn(tenantId))
      throw new NotFoundError('The batch', { code: 'job.batch_not_found' })
    if (batch.cancelled)
      throw new ConflictError('The batch was cancelled, and nothing is added to it any more. Begin a new one.', {
        code: 'job.batch_cancelled',
      })
  }
}

const LOCK_BATCHES = statement<LockedBatch>(
  'jobs.lock_batches',
  `select id::text, tenant_id::text as "tenantId", cancelled_at is not null as cancelled
  from job_batch where id = any((array(select jsonb_array_elements_text($1::jsonb)))::uuid[])
  order by id for share`,
)
