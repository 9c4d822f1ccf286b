import { statement, type Queryable } from '../../database/index.ts'
import type { FailureClass } from '../../errors/index.ts'
import { COUNT_FINISHED_OF_TENANT } from '../sql/counts.ts'
import { type Finished, listing, type ListedRow } from '../sql/list-jobs.ts'
import { fromTenantColumn, toTenantColumn } from '../tenant.ts'
import type { JobFilter, JobPage, JobPageRequest, JobRow } from './job-row.ts'
import { pageOf, rowsToRead } from './page.ts'
import { redactedJson } from './redacted-json.ts'

/** A page of jobs. Never locks; as fast with ten million finished jobs as with none (docs/jobs.md, Operating). */
export async function listJobs(on: Queryable, filter: JobFilter, page: JobPageRequest): Promise<JobPage> {
  const newestFirst = page.before === undefined
  const place = { after: page.after ?? page.before ?? null, newestFirst, limit: rowsToRead(page) }
  const { statement: list, values } = listing(filter, place, await finishedThatFit(on, filter))
  const { rows, hasMore } = pageOf(page, await on.run(list, values))
  return { rows: rows.map(jobRow), hasMore }
}

/** Those of these jobs that can be found, by id, of whichever tenant. */
export async function jobsById(on: Queryable, jobIds: readonly string[]): Promise<Map<string, JobRow>> {
  if (jobIds.length === 0) return new Map()
  const { statement: list, values } = listing({}, { ids: jobIds }, 'MANY')
  return new Map((await on.run(list, values)).map((row) => [row.jobId, jobRow(row)]))
}

/**
 * A job's payload for an operator who asks for it: field names, UUIDs, numbers, booleans and moments as they are, the
 * length of every other text instead of the text (J69, J89). Null when there is no such job.
 */
export async function redactedPayload(on: Queryable, jobId: string): Promise<unknown> {
  const [row] = await on.run(PAYLOAD, [jobId])
  return row === undefined ? null : redactedJson(row.payload)
}

/**
 * Up to so many finished jobs are rather found by value than met by reading from the newest on. Among ten million, 800
 * jobs cost the same either way: 800 ranges of some 800 rows, or 51 of 800 met in one pass.
 */
const FEW = 1_000

/** Asks the counts, where a tenant is looked for: almost every range of pages holds a job of an average tenant. */
export async function finishedThatFit(on: Queryable, { tenantId, types, statuses }: JobFilter): Promise<Finished> {
  if (tenantId === undefined) return 'MANY'
  const [row] = await on.run(COUNT_FINISHED_OF_TENANT, [
    toTenantColumn(tenantId),
    types === undefined ? null : JSON.stringify(types),
    JSON.stringify(statuses ?? ['SUCCEEDED', 'FAILED', 'CANCELLED']),
  ])
  const { jobs } = row!
  return jobs === 0 ? 'NONE' : jobs <= FEW ? 'FEW' : 'MANY'
}

function jobRow({ failureClass, code, message, tenantId, ...row }: ListedRow): JobRow {
  return {
    ...row,
    tenantId: fromTenantColumn(tenantId),
    failure:
      failureClass === null ? null : { class: failureClass as FailureClass, code: code ?? '', message: message ?? '' },
  }
}

const PAYLOAD = statement<{ readonly payload: unknown }>(
  'jobs.payload',
  `select payload from job where id = $1::uuid
  union all
  select payload from job_finished where id = $1::uuid`,
)
