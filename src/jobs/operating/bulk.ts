import type { By, JobAct, OperatingParts } from './act.ts'
import type { JobFilter } from './job-row.ts'

/** Most jobs that one bulk act touches; run it again for the rest. */
export const MOST_JOBS_IN_BULK = 10_000

export interface BulkPreview {
  /** Jobs that fit the filter and whose status allows the act, counted up to `MOST_JOBS_IN_BULK` + 1. */
  readonly jobs: number
  /** More than one bulk act touches. */
  readonly beyondLimit: boolean
  readonly perType: readonly { readonly type: string; readonly jobs: number }[]
  /** The first 20, oldest first. */
  readonly sample: readonly string[]
  /** Fit the filter, but their status does not allow the act; counted up to `MOST_JOBS_IN_BULK` + 1 each. */
  readonly refused: readonly { readonly status: string; readonly jobs: number }[]
  /** Types of the selection that no release here knows: their jobs would be refused. */
  readonly unknownTypes: readonly string[]
}

export interface BulkRequest {
  /** A UUID of the caller's: the same one again goes on where it stopped, or answers with the result. */
  readonly bulkId: string
  readonly act: JobAct
  readonly filter: JobFilter
  /** What the preview said. More than that: nothing is done (`job.selection_grew`). Fewer is no matter. */
  readonly expectedJobs?: number
}

export interface BulkResult {
  readonly bulkId: string
  /** `selected` = `acted` + `refused` + `gone`. */
  readonly selected: number
  readonly acted: number
  /** Still there, but the act was refused: by code. */
  readonly refused: number
  readonly refusals: readonly { readonly code: string; readonly jobs: number }[]
  /** Changed their status, or went away, since they were selected. */
  readonly gone: number
  /** There were more than `MOST_JOBS_IN_BULK`: run another bulk act for the rest. */
  readonly more: boolean
}

/** What `runBulk` would do, without doing it. */
export async function previewBulk(_parts: OperatingParts, _filter: JobFilter, _act: JobAct): Promise<BulkPreview> {
  throw new Error('being written')
}

/**
 * One act on every job that fits, oldest first, in transactions of at most 500 jobs. The selection is kept in the
 * audit before the first job is touched, and each job has its own row there, `partOf` this one.
 *
 * @throws ValidationError when the reason is blank or too long, or the filter is empty
 * @throws ConflictError `job.selection_grew`, or `job.bulk_id_reused` when the id was used for something else
 */
export async function runBulk(_parts: OperatingParts, _request: BulkRequest, _by: By): Promise<BulkResult> {
  throw new Error('being written')
}

/**
 * After a restore: puts aside what has been due for longer than `olderThanMs`, so that not everything fires blindly
 * (J107). A bulk act HOLD; `runBulk` with RELEASE and a filter lets them go on.
 */
export async function holdDueJobs(
  _parts: OperatingParts,
  _request: { readonly bulkId: string; readonly olderThanMs: number },
  _by: By,
): Promise<BulkResult> {
  throw new Error('being written')
}
