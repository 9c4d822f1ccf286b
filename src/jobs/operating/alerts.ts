import type { Queryable } from '../../database/index.ts'

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

export async function jobAlerts(_on: Queryable): Promise<JobAlerts> {
  throw new Error('being written')
}

/** Raises and takes back `job_type.failing_since`, each with one operators' event, over any number of processes. */
export async function evaluateAlerts(_on: Queryable): Promise<{ raised: string[]; recovered: string[] }> {
  throw new Error('being written')
}
