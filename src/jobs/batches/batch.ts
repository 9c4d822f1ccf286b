import type { Queryable } from '../../database/index.ts'
import type { JobStatus } from '../definition.ts'

/** A group of jobs that people know by one name. */
export interface JobBatch {
  readonly batchId: string
  /** Null for the installation's own. */
  readonly tenantId: string | null
  readonly label: string
  readonly correlationId: string
  readonly triggeredBy: string
  readonly createdAt: Date
  readonly cancelledAt: Date | null
  readonly cancelledBy: string | null
  readonly cancelReason: string | null
}

export interface NewBatch {
  /** A UUIDv7 of the caller's that stores it in its own row first; else made here. */
  readonly batchId?: string
  readonly tenantId: string | null
  /** What people see: 1 to 200 characters, free of personal data. */
  readonly label: string
  readonly correlationId: string
  readonly triggeredBy: string
}

/** Newest first; at most one of `after` and `before`, each the id of a batch. */
export interface BatchPageRequest {
  /** 1 to 100. */
  readonly limit: number
  readonly after?: string
  readonly before?: string
}

export interface BatchPage {
  readonly rows: readonly JobBatch[]
  readonly hasMore: boolean
}

/** Which batches: of one tenant (null: the installation's own), or, for operators, of all. */
export interface BatchFilter {
  readonly tenantId?: string | null
  readonly cancelled?: boolean
}

/** Makes a batch in the caller's transaction; jobs join it by `EnqueueRequest.batchId`. */
export async function createBatch(_tx: Queryable, _batch: NewBatch): Promise<string> {
  throw new Error('being written')
}

/** Those of these batches that there are; with a tenant given, only its own. */
export async function batchesById(
  _on: Queryable,
  _batchIds: readonly string[],
  _filter: BatchFilter = {},
): Promise<Map<string, JobBatch>> {
  throw new Error('being written')
}

export async function listBatches(_on: Queryable, _filter: BatchFilter, _page: BatchPageRequest): Promise<BatchPage> {
  throw new Error('being written')
}

/** How many jobs of each batch stand in which status, of one moment; statuses without jobs are left out. */
export async function countsOfBatches(
  _on: Queryable,
  _batchIds: readonly string[],
): Promise<Map<string, Partial<Record<JobStatus, number>>>> {
  throw new Error('being written')
}
