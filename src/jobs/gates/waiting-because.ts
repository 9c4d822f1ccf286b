import type { Queryable } from '../../database/index.ts'
import { WAITING_BECAUSE, type WaitingRow } from '../sql/waiting-because.ts'

/** Why a job that waits does not run. */
export type WaitingReason =
  /** An operator put it aside until it is released. */
  | { readonly kind: 'HELD' }
  /** Its type is paused. */
  | { readonly kind: 'PAUSED'; readonly since: Date; readonly reason: string | null }
  /** No live worker knows its type and the version of its payload. */
  | { readonly kind: 'NO_WORKER'; readonly type: string; readonly payloadVersion: number }
  /** The outside service that it needs does not answer; one job tries again at about `until`. */
  | { readonly kind: 'BREAKER_OPEN'; readonly dependency: string; readonly until: Date | null }
  | { readonly kind: 'NOT_YET_DUE'; readonly at: Date }
  /** It was running when a worker died: it waits for an engine that runs nothing else. */
  | { readonly kind: 'ISOLATION' }
  /** As many of its type run as may run at once, over all tenants or of its own. */
  | { readonly kind: 'TYPE_CAP' | 'TENANT_CAP'; readonly running: number; readonly cap: number }
  /** Its tenant's rate is used up until `nextAt`. */
  | { readonly kind: 'RATE'; readonly nextAt: Date }
  /**
   * So many due jobs of its type and tenant come first; with `atLeast`, that many or more. Other tenants' jobs are not
   * counted: tenants are served in turn. 0, and not `atLeast`: it is the next.
   */
  | { readonly kind: 'AHEAD'; readonly jobs: number; readonly atLeast: boolean }

/**
 * Every reason why these jobs do not run, the weightiest first; there is at least one. Jobs that run, are over or do
 * not exist are left out. Of whichever tenant they are: for operators, and for callers that know whose they are.
 */
export async function waitingBecause(on: Queryable, jobIds: readonly string[]): Promise<Map<string, WaitingReason[]>> {
  if (jobIds.length === 0) return new Map()
  const rows = await on.run(WAITING_BECAUSE, [JSON.stringify(jobIds)])
  return new Map(rows.map((row) => [row.jobId, reasonsOf(row)]))
}

function reasonsOf(row: WaitingRow): WaitingReason[] {
  const reasons: WaitingReason[] = []
  if (row.held) reasons.push({ kind: 'HELD' })
  if (row.pausedAt !== null) reasons.push({ kind: 'PAUSED', since: row.pausedAt, reason: row.pausedReason })
  if (!row.hasWorker) reasons.push({ kind: 'NO_WORKER', type: row.type, payloadVersion: row.payloadVersion })
  if (row.openDependency !== null)
    reasons.push({ kind: 'BREAKER_OPEN', dependency: row.openDependency, until: row.openUntil })
  if (!row.isDue) return row.held ? reasons : [...reasons, { kind: 'NOT_YET_DUE', at: row.dueAt }]
  if (row.lost > 0) reasons.push({ kind: 'ISOLATION' })
  reasons.push(...reached('TYPE_CAP', row.running, row.maxRunning))
  reasons.push(...reached('TENANT_CAP', row.runningOfTenant, row.maxRunningPerTenant))
  if (row.rateAllowsAt !== null) reasons.push({ kind: 'RATE', nextAt: row.rateAllowsAt })
  if (row.ahead > 0 || reasons.length === 0) reasons.push({ kind: 'AHEAD', jobs: row.ahead, atLeast: row.moreAhead })
  return reasons
}

function reached(kind: 'TYPE_CAP' | 'TENANT_CAP', running: number | null, cap: number | null): WaitingReason[] {
  return running === null || cap === null || running < cap ? [] : [{ kind, running, cap }]
}
