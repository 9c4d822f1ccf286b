import type { Queryable } from '../../database/index.ts'
import type { JobFilter, JobPage, JobPageRequest, JobRow } from './job-row.ts'

/** A page of jobs. Never locks; as fast with ten million finished jobs as with none (docs/jobs.md, Operating). */
export async function listJobs(_on: Queryable, _filter: JobFilter, _page: JobPageRequest): Promise<JobPage> {
  throw new Error('being written')
}

/** Those of these jobs that can be found, by id, of whichever tenant. */
export async function jobsById(_on: Queryable, _jobIds: readonly string[]): Promise<Map<string, JobRow>> {
  throw new Error('being written')
}

/**
 * A job's payload for an operator who asks for it: field names, UUIDs, numbers, booleans and moments as they are, the
 * length of every other text instead of the text (J69, J89). Null when there is no such job.
 */
export async function redactedPayload(_on: Queryable, _jobId: string): Promise<unknown> {
  throw new Error('being written')
}
