import { statement, type Queryable } from '../database/index.ts'
import type { NewEvent } from './event.ts'

/** Writes events in the caller's transaction: they become visible when, and only if, it commits. */
export async function appendEvents(tx: Queryable, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return
  await tx.run(APPEND, [JSON.stringify(events)])
}

const APPEND = statement<unknown>(
  'events.append',
  `insert into event (tenant_id, subject_kind, subject_id, sequence, type, "from", "to", reason, data, actor, correlation_id)
   select "tenantId", "subjectKind", "subjectId", sequence, type, "from", "to", reason, data, actor, "correlationId"
   from jsonb_to_recordset($1::jsonb) as e(
     "tenantId" uuid, "subjectKind" text, "subjectId" uuid, sequence int, type text, "from" text, "to" text,
     reason text, data jsonb, actor text, "correlationId" text)`,
)
