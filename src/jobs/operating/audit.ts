import type { Queryable } from '../../database/index.ts'

/** What an operator did. Append-only; kept for ever. */
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
  /** Of a bulk act: `{ filter, jobs }`. */
  readonly selection: Readonly<Record<string, unknown>> | null
  readonly before: Readonly<Record<string, unknown>> | null
  readonly after: Readonly<Record<string, unknown>> | null
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
  readonly since?: Date
  readonly until?: Date
}

/** Newest first; `after` and `before` are ids of acts (UUIDv7). */
export interface ActPageRequest {
  /** 1 to 100. */
  readonly limit: number
  readonly after?: string
  readonly before?: string
}

export interface ActPage {
  readonly rows: readonly ActRow[]
  readonly hasMore: boolean
}

export async function listActs(_on: Queryable, _filter: ActFilter, _page: ActPageRequest): Promise<ActPage> {
  throw new Error('being written')
}
