import { v7 as uuidv7 } from 'uuid'
import type { Queryable, SqlValue } from '../../database/index.ts'
import { ValidationError } from '../../errors/index.ts'
import type { JobStatus } from '../definition.ts'
import { pageOf, type PageRequest, rowsToRead } from '../operating/page.ts'
import { BATCH_COLUMNS, type BatchRow, COUNT_BATCHES, CREATE_BATCH } from '../sql/batches.ts'
import { fromTenantColumn, toTenantColumn } from '../tenant.ts'

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

/** Newest first; `after` and `before` are ids of batches. */
export type BatchPageRequest = PageRequest

export interface BatchPage {
  readonly rows: readonly JobBatch[]
  readonly hasMore: boolean
}

/** Which batches: of one tenant (null: the installation's own), or, for operators, of all. */
export interface BatchFilter {
  readonly tenantId?: string | null
  readonly cancelled?: boolean
}

const LONGEST_LABEL = 200

/**
 * Makes a batch in the caller's transaction; jobs join it by `EnqueueRequest.batchId`. Answers with its id.
 *
 * @throws ValidationError when the label is blank or too long
 */
export async function createBatch(tx: Queryable, batch: NewBatch): Promise<string> {
  const label = batch.label.trim()
  if (label === '' || label.length > LONGEST_LABEL)
    throw new ValidationError(`A batch has a label of 1 to ${LONGEST_LABEL} characters.`, { path: ['label'] })
  const id = batch.batchId ?? uuidv7()
  await tx.run(CREATE_BATCH, [id, toTenantColumn(batch.tenantId), label, batch.correlationId, batch.triggeredBy])
  return id
}

/** Those of these batches that there are; with a tenant given, only its own. */
export async function batchesById(
  on: Queryable,
  batchIds: readonly string[],
  filter: BatchFilter = {},
): Promise<Map<string, JobBatch>> {
  if (batchIds.length === 0) return new Map()
  const { conditions, values } = narrowed(filter)
  values.push(JSON.stringify(batchIds))
  conditions.push(`id = any((array(select jsonb_array_elements_text($${values.length}::jsonb)))::uuid[])`)
  const text = `select ${BATCH_COLUMNS} from job_batch where ${conditions.join(' and ')}`
  const rows = await on.run<BatchRow>({ name: '', text }, values)
  return new Map(rows.map((row) => [row.batchId, batchOf(row)]))
}

export async function listBatches(on: Queryable, filter: BatchFilter, page: BatchPageRequest): Promise<BatchPage> {
  const { conditions, values } = narrowed(filter)
  const key = page.after ?? page.before
  const backwards = page.before !== undefined
  if (key !== undefined) conditions.push(`id ${backwards ? '>' : '<'} $${values.push(key)}::uuid`)
  const text = `select ${BATCH_COLUMNS} from job_batch where ${conditions.join(' and ') || 'true'}
    order by id ${backwards ? '' : 'desc'} limit $${values.push(rowsToRead(page))}::int`
  const { rows, hasMore } = pageOf(page, await on.run<BatchRow>({ name: '', text }, values))
  return { rows: rows.map(batchOf), hasMore }
}

/** How many jobs of each batch stand in which status, of one moment; statuses without jobs are left out. */
export async function countsOfBatches(
  on: Queryable,
  batchIds: readonly string[],
): Promise<Map<string, Partial<Record<JobStatus, number>>>> {
  const counts = new Map<string, Partial<Record<JobStatus, number>>>(batchIds.map((id) => [id, {}]))
  if (batchIds.length === 0) return counts
  for (const { batchId, status, jobs } of await on.run(COUNT_BATCHES, [JSON.stringify(batchIds)]))
    counts.get(batchId)![status] = jobs
  return counts
}

function narrowed({ tenantId, cancelled }: BatchFilter): { conditions: string[]; values: SqlValue[] } {
  const values: SqlValue[] = []
  const conditions: string[] = []
  if (tenantId !== undefined) conditions.push(`tenant_id = $${values.push(toTenantColumn(tenantId))}::uuid`)
  if (cancelled !== undefined) conditions.push(`cancelled_at is ${cancelled ? 'not ' : ''}null`)
  return { conditions, values }
}

const batchOf = (row: BatchRow): JobBatch => ({ ...row, tenantId: fromTenantColumn(row.tenantId) })
