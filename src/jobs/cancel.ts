import type { Queryable } from '../database/index.ts'
import { safeMessage } from './redact.ts'
import { CANCEL } from './sql/cancel.ts'
import { toTenantColumn } from './tenant.ts'

export interface CancelRequest {
  readonly tenantId: string | null
  readonly jobIds: readonly string[]
  /** Kept with the job; shown to people. */
  readonly reason: string
  readonly actor: string
}

/**
 * Cancels queued jobs in the caller's transaction; a running one gets its abort signal and ends by who wins.
 * For the domain that owns the jobs and writes its own rows itself: `onOutcome` is not called for queued ones.
 * Ids that are over, or another tenant's, are in neither list.
 */
export async function cancelJobs(
  tx: Queryable,
  request: CancelRequest,
): Promise<{ cancelled: string[]; signalled: string[] }> {
  if (request.jobIds.length === 0) return { cancelled: [], signalled: [] }
  const rows = await tx.run(CANCEL, [
    JSON.stringify(request.jobIds),
    toTenantColumn(request.tenantId),
    safeMessage(request.reason),
    request.actor,
  ])
  return {
    cancelled: rows.filter((row) => row.queued).map((row) => row.id),
    signalled: rows.filter((row) => !row.queued).map((row) => row.id),
  }
}
