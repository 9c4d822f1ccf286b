import type { Queryable } from '../../database/index.ts'
import type { JobStatus } from '../definition.ts'
import { COUNT_JOBS, ROLL_UP_COUNTS, SUMMARISE_FINISHED } from '../sql/counts.ts'
import { toTenantColumn } from '../tenant.ts'

export interface JobCount {
  readonly type: string
  readonly status: JobStatus
  readonly jobs: number
}

export interface CountFilter {
  readonly types?: readonly string[]
  /** Null: the installation's own jobs. Left out: everybody's. */
  readonly tenantId?: string | null
}

/** How many jobs there are per type and status, exactly, as of one moment; types and statuses without jobs left out. */
export async function countJobs(on: Queryable, { types, tenantId }: CountFilter = {}): Promise<JobCount[]> {
  return on.run(COUNT_JOBS, [
    tenantId === undefined ? null : toTenantColumn(tenantId),
    types === undefined ? null : JSON.stringify(types),
  ])
}

/**
 * Adds up what ended since the last time, for `countJobs` and the alerts. Done on the spot by one engine every two
 * seconds; when nobody does, counts stay exact and get slower. Must run outside of other transactions.
 */
export async function rollUpCounts(on: Queryable): Promise<void> {
  await on.run(ROLL_UP_COUNTS, [])
}

/** Lets searches for a value pass over the pages where it is not, as soon as these are full. Every few minutes. */
export async function summariseFinished(on: Queryable): Promise<number> {
  const [row] = await on.run(SUMMARISE_FINISHED, [])
  return row!.ranges
}
