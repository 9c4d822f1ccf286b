import type { Queryable } from '../../database/index.ts'
import type { JobStatus } from '../definition.ts'

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
export async function countJobs(_on: Queryable, _filter: CountFilter = {}): Promise<JobCount[]> {
  throw new Error('being written')
}

/** Adds up what ended since the last time, for `countJobs`. Done on the spot by one engine every two seconds. */
export async function rollUpCounts(_on: Queryable): Promise<void> {
  throw new Error('being written')
}
