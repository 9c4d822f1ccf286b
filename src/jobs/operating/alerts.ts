import { v7 as uuidv7 } from 'uuid'
import type { Database, Queryable } from '../../database/index.ts'
import {
  ALERTED_TYPES,
  FORGET_ENDED_LATELY,
  MARK_FAILING,
  OLDEST_DUE,
  OPEN_BREAKERS,
  QUARANTINED,
  TYPE_HEALTH,
  type TypeHealthRow,
} from '../sql/alerts.ts'
import { appendTypeEvent } from '../types/operator-event.ts'

/** When a type counts as failing (J86), and when no longer. */
export interface AlertRule {
  /** What ended for good in the last so many minutes counts; at most 60. */
  readonly windowMinutes: number
  /** So many failures at least… */
  readonly failures: number
  /** …and more than this share of what ended. */
  readonly share: number
  /** It has recovered when at most this share of what ended has failed: lower, so that it does not flicker. */
  readonly recoveredShare: number
  /** Failing too: the oldest due job has been waiting longer than this, unless the type is paused. */
  readonly overdueMs: number
}

export const ALERT_RULE: AlertRule = {
  windowMinutes: 15,
  failures: 5,
  share: 0.5,
  recoveredShare: 0.25,
  overdueMs: 15 * 60_000,
}

/** What deserves attention now; what metrics and health pages show. */
export interface JobAlerts {
  /** Types that keep failing or whose jobs are long overdue. */
  readonly failingTypes: readonly { readonly type: string; readonly since: Date }[]
  readonly pausedTypes: readonly {
    readonly type: string
    readonly since: Date
    readonly by: string
    readonly reason: string | null
  }[]
  /** How long the oldest job that is due has been waiting, per type; types with nothing due are left out. */
  readonly oldestDue: readonly { readonly type: string; readonly waitingMs: number }[]
  /** Failed because they killed their workers, and not yet handled or retried; per type. */
  readonly quarantined: readonly { readonly type: string; readonly jobs: number }[]
  /** Breakers that are open or being probed. */
  readonly openBreakers: readonly {
    readonly type: string
    readonly dependency: string
    readonly state: 'OPEN' | 'HALF_OPEN'
    readonly since: Date
    readonly openUntil: Date | null
  }[]
}

export async function jobAlerts(on: Queryable): Promise<JobAlerts> {
  const types = await on.run(ALERTED_TYPES, [])
  return {
    failingTypes: types.flatMap(({ type, failingSince: since }) => (since === null ? [] : [{ type, since }])),
    pausedTypes: types.flatMap(({ type, pausedAt: since, pausedBy, pausedReason: reason }) =>
      since === null ? [] : [{ type, since, by: pausedBy ?? '', reason }],
    ),
    oldestDue: await on.run(OLDEST_DUE, []),
    quarantined: await on.run(QUARANTINED, []),
    openBreakers: await on.run(OPEN_BREAKERS, []),
  }
}

/**
 * Raises and takes back `job_type.failing_since`, each with one operators' event (`job.type.failing`,
 * `job.type.recovered`), over any number of processes. Done on the spot by one engine every fifteen seconds; looks at
 * what `rollUpCounts` has added up.
 */
export async function evaluateAlerts(
  database: Database,
  rule: AlertRule = ALERT_RULE,
): Promise<{ raised: string[]; recovered: string[] }> {
  const raised: string[] = []
  const recovered: string[] = []
  for (const health of await database.run(TYPE_HEALTH, [rule.windowMinutes])) {
    const failing = health.failing ? !hasRecovered(health, rule) : whatFails(health, rule) !== null
    if (failing === health.failing) continue
    if (await mark(database, health, failing, rule)) (failing ? raised : recovered).push(health.type)
  }
  await database.run(FORGET_ENDED_LATELY, [])
  return { raised, recovered }
}

const whatFails = ({ failed, ended, overdueMs }: TypeHealthRow, rule: AlertRule): string | null =>
  failed >= rule.failures && failed > ended * rule.share
    ? 'job.type.failures'
    : overdueMs > rule.overdueMs
      ? 'job.type.overdue'
      : null

const hasRecovered = ({ failed, ended, overdueMs }: TypeHealthRow, rule: AlertRule): boolean =>
  failed <= ended * rule.recoveredShare && overdueMs <= rule.overdueMs

/** Only who changes the row says so, in the transaction that changes it. */
async function mark(database: Database, health: TypeHealthRow, failing: boolean, rule: AlertRule): Promise<boolean> {
  const { type, failed, ended, overdueMs } = health
  return database.rawTransaction(async (tx) => {
    if ((await tx.run(MARK_FAILING, [type, failing])).length === 0) return false
    return appendTypeEvent(tx, {
      type,
      event: failing ? 'job.type.failing' : 'job.type.recovered',
      data: { failed, ended, windowMinutes: rule.windowMinutes, overdueMs: Math.round(overdueMs) },
      actor: 'system',
      reason: failing ? whatFails(health, rule) : null,
      correlationId: uuidv7(),
    })
  })
}
