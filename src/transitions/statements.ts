import { createHash } from 'node:crypto'
import { statement, type Statement } from '../database/index.ts'
import type { Lifecycle } from './lifecycle.ts'

/** A row that this transaction holds. */
export interface LockedRow {
  readonly id: string
  readonly status: string
  readonly version: number
}

/** What `writeRows` takes per row, in `$2`. */
export interface WriteRow {
  readonly id: string
  readonly from: string
  readonly type: string
  readonly reason: string | null
  readonly data: Readonly<Record<string, unknown>>
  readonly actor: string
  readonly correlationId: string
  /** Columns to set, `status` among them. */
  readonly set: Readonly<Record<string, unknown>>
}

// FOR UPDATE takes the locks in the order of the sort, since ids never change: ascending in every
// transaction, so that two batches that overlap wait for each other instead of deadlocking.
export const lockRows = (lifecycle: Lifecycle<string>): Statement<LockedRow> =>
  statement<LockedRow>(
    `transition.lock.${lifecycle.kind}`,
    `select t.id::text, t.status::text, t.version
     from ${lifecycle.table} t
     where t.tenant_id = $1::uuid and t.id in (select i::uuid from jsonb_array_elements_text($2::jsonb) i)
     order by t.id
     for update`,
  )

// Row and event in one statement, because the round trip is what a transition costs. The new values come out
// of jsonb_populate_record over the row itself: a column that one request sets and another does not keeps its
// value there, and `status` may be text or an enum. The event takes `version` from RETURNING, never from us.
export const writeRows = (lifecycle: Lifecycle<string>, columns: readonly string[]): Statement<LockedRow> => {
  for (const column of columns) refuseColumn(lifecycle, column)
  const written = ['status', ...columns]
  return statement<LockedRow>(
    `transition.write.${lifecycle.kind}.${shortName(columns)}`,
    `with request as (
       select * from rows from (jsonb_to_recordset($2::jsonb) as (
         id uuid, "from" text, type text, reason text, data jsonb, actor text, "correlationId" text, set jsonb
       )) with ordinality as r(id, "from", type, reason, data, actor, correlation_id, set, place)
     ), moved as (
       update ${lifecycle.table} t
       set version = t.version + 1,
           (${written.join(', ')}) = (select ${written.map((c) => `p.${c}`).join(', ')} from jsonb_populate_record(t, r.set) p)
       from request r
       where t.tenant_id = $1::uuid and t.id = r.id
       returning t.id, t.status, t.version, r."from", r.type, r.reason, r.data, r.actor, r.correlation_id, r.place
     ), logged as (
       insert into event (tenant_id, subject_kind, subject_id, sequence, type, "from", "to", reason, data, actor, correlation_id)
       select $1::uuid, '${lifecycle.kind}', m.id, m.version, m.type, m."from", m.status::text, m.reason, m.data, m.actor, m.correlation_id
       from moved m order by m.place
     )
     select m.id::text, m.status::text, m.version from moved m order by m.place`,
  )
}

// PostgreSQL cuts the name of a prepared statement at 63 bytes, and two that were cut alike would be mixed up.
const shortName = (columns: readonly string[]): string =>
  createHash('sha256').update(columns.join()).digest('hex').slice(0, 12)

function refuseColumn({ kind }: Lifecycle<string>, column: string): void {
  // Column names become SQL text, and these four are the transition's own.
  if (!/^[a-z][a-z0-9_]*$/.test(column) || ['tenant_id', 'id', 'status', 'version'].includes(column))
    throw new Error(`A transition of ${kind} cannot set the column "${column}".`)
}
