import type { Queryable, SqlValue } from '../../database/index.ts'
import { fromTenantColumn, toTenantColumn } from '../tenant.ts'
import { type PageRequest, pageOf, rowsToRead } from './page.ts'

/** What an operator did or was refused to do. Append-only; kept for ever. */
export interface ActRow {
  readonly actId: string
  readonly at: Date
  readonly actor: string
  /**
   * A `JobAct`; `BULK_…` and `BULK_…_DONE` for the beginning and the end of one over many jobs; PAUSE_TYPE,
   * RESUME_TYPE, PAUSE_SCHEDULE, RESUME_SCHEDULE, RUN_SCHEDULE, CANCEL_BATCH.
   */
  readonly act: string
  readonly reason: string
  readonly correlationId: string
  readonly jobId: string | null
  readonly type: string | null
  readonly schedule: string | null
  readonly batchId: string | null
  readonly tenantId: string | null
  /** The bulk act that this was part of. */
  readonly partOf: string | null
  /** Of a bulk act: `{ filter, jobs, more }`. */
  readonly selection: Readonly<Record<string, unknown>> | null
  readonly before: Readonly<Record<string, unknown>> | null
  readonly after: Readonly<Record<string, unknown>> | null
  /** Why it was refused, as a code, and nothing changed; null: it was done. */
  readonly refusal: string | null
}

export interface ActFilter {
  readonly jobId?: string
  readonly type?: string
  readonly actor?: string
  readonly act?: string
  readonly schedule?: string
  readonly batchId?: string
  readonly tenantId?: string | null
  readonly partOf?: string
  /** Leaves out the single jobs of bulk acts. Default false. */
  readonly topLevelOnly?: boolean
  /** What was refused, or what was done. */
  readonly refused?: boolean
  readonly since?: Date
  readonly until?: Date
}

/** Newest first; `after` and `before` are ids of acts. */
export type ActPageRequest = PageRequest

export interface ActPage {
  readonly rows: readonly ActRow[]
  readonly hasMore: boolean
}

/**
 * A page of what operators did (J76), by the database's clock: an id may be a caller's own (`BulkRequest.bulkId`) and
 * says nothing of when. Written for the filter at hand, as the list of jobs is.
 */
export async function listActs(on: Queryable, filter: ActFilter, page: ActPageRequest): Promise<ActPage> {
  const values: SqlValue[] = []
  const value = (given: SqlValue): string => `$${values.push(given)}`
  const conditions = ['true']
  for (const [column, type, given] of [
    ['job_id', 'uuid', filter.jobId],
    ['type', 'text', filter.type],
    ['actor', 'text', filter.actor],
    ['act', 'text', filter.act],
    ['schedule', 'text', filter.schedule],
    ['batch_id', 'uuid', filter.batchId],
    ['tenant_id', 'uuid', filter.tenantId === undefined ? undefined : toTenantColumn(filter.tenantId)],
    ['part_of', 'uuid', filter.partOf],
  ] as const)
    if (given !== undefined) conditions.push(`${column} = ${value(given)}::${type}`)
  if (filter.topLevelOnly === true) conditions.push('part_of is null')
  if (filter.refused !== undefined) conditions.push(`refusal is ${filter.refused ? 'not ' : ''}null`)
  if (filter.since !== undefined) conditions.push(`at >= ${value(filter.since)}::timestamptz`)
  if (filter.until !== undefined) conditions.push(`at < ${value(filter.until)}::timestamptz`)
  const key = page.after ?? page.before
  const backwards = page.before !== undefined
  const direction = backwards ? '' : 'desc'
  if (key !== undefined)
    conditions.push(
      `(at, id) ${backwards ? '>' : '<'} (select key.at, key.id from job_act key where key.id = ${value(key)}::uuid)`,
    )

  const text = `select id::text as "actId", at, actor, act, reason, correlation_id as "correlationId",
      job_id::text as "jobId", type, schedule, batch_id::text as "batchId", tenant_id::text as "tenantId",
      part_of::text as "partOf", selection - 'groups' as selection, before, after, refusal
    from job_act where ${conditions.join(' and ')}
    order by at ${direction}, id ${direction} limit ${value(rowsToRead(page))}::int`
  const { rows, hasMore } = pageOf(page, await on.run<ActRow>({ name: '', text }, values))
  return {
    rows: rows.map((row) => ({ ...row, tenantId: row.tenantId === null ? null : fromTenantColumn(row.tenantId) })),
    hasMore,
  }
}
