import type { LogEvent } from './event.ts'

/**
 * An event log: a table that `event_log_begin` has registered, partitioned by (epoch, xid), with an `id` and a
 * `tenant_id`. The domains write one, the job engine another of the same make.
 */
export interface EventLog<Columns> {
  readonly table: string
  /** Select list over the row `e`; gives the keys of `Columns`. */
  readonly columns: string
  /** Columns that a reader may narrow to a list of values, with their type in SQL. */
  readonly filters?: readonly { readonly column: string; readonly type: string }[]
  /** Never set; carries the row's type. */
  readonly row?: Columns
}

export type EventColumns = Omit<LogEvent, 'position'>

/** The log that every domain writes. */
export const EVENTS: EventLog<EventColumns> = {
  table: 'event',
  columns: `e.tenant_id as "tenantId", e.subject_kind as "subjectKind", e.subject_id as "subjectId", e.sequence, e.type,
    e."from", e."to", e.reason, e.data, e.actor, e.correlation_id as "correlationId", e.recorded_at as "recordedAt"`,
  filters: [
    { column: 'subject_kind', type: 'text' },
    { column: 'subject_id', type: 'uuid' },
  ],
}
