import type { Queryable } from '../database/index.ts'
import { before, bookmarkAt, isUnread, readUpTo, type Bookmark } from './bookmark.ts'
import { CursorExpiredError } from './errors.ts'
import type { LogEvent, LogPosition } from './event.ts'
import { EVENTS, type EventColumns, type EventLog } from './log.ts'
import { logEnds, readPage } from './read-sql.ts'

export interface ReadOptions {
  /** Null reads the rows of all tenants. */
  readonly tenantId: string | null
  /** Where the reader left off; null for the oldest row there is. */
  readonly after: Bookmark | null
  /** Most rows that are returned. */
  readonly limit: number
}

export interface ReadEventsOptions extends ReadOptions {
  readonly kinds?: readonly string[] | undefined
  readonly subjectIds?: readonly string[] | undefined
}

/** A page of a log, with the watermark of the snapshot that it was read in. */
export interface LogPage<Row extends { readonly position: LogPosition } = LogEvent> {
  readonly events: readonly Row[]
  /** Where to read on. */
  readonly end: Bookmark
  /** The page reaches up to the watermark: there is nothing more to read for now. */
  readonly complete: boolean
  /** The database's clock when the page was read. */
  readonly readAt: Date
}

/**
 * Reads on in the log, in its final order. Throws CursorExpiredError when the log no longer reaches back to `after`,
 * or does not yet reach so far: then it was restored to an earlier moment.
 */
export async function readEvents(db: Queryable, options: ReadEventsOptions): Promise<LogPage> {
  const { kinds, subjectIds } = options
  const page = await readLog(db, EVENTS, { ...options, filters: [kinds, subjectIds] })
  return { ...page, events: page.events.map(eventOf) }
}

/** As `readEvents`, for any log of this make; its rows as `log.columns` names them. */
export async function readLog<Columns>(
  db: Queryable,
  log: EventLog<Columns>,
  options: ReadOptions & { readonly filters?: readonly (readonly string[] | undefined)[] },
): Promise<LogPage<Columns & { readonly position: LogPosition }>> {
  const after = options.after ?? (await beginning(db, log))
  const { position } = after
  const filters = (log.filters ?? []).map((_, index) => options.filters?.[index])
  const rows = await db.run(readPage(log, options.tenantId !== null), [
    position.epoch,
    String(position.xid),
    String(position.id),
    options.limit,
    after.epoch,
    ...filters.map((list) => (list === undefined ? null : JSON.stringify(list))),
    ...(options.tenantId === null ? [] : [options.tenantId]),
  ])
  const { expired, watermark, readAt } = rows[0]!
  if (expired) throw new CursorExpiredError()
  const found = rows
    .filter((row) => row.eventId !== null)
    .map((row) => ({
      ...row,
      position: { epoch: position.epoch, xid: BigInt(row.eventXid!), id: BigInt(row.eventId!) },
    }))
  const current = position.epoch === after.epoch
  const last = found.length === options.limit ? found.at(-1)!.position : null
  return {
    events: found.filter((row) => isUnread(after, row.position)),
    end: readUpTo(after, last ?? (current ? before(after.epoch, BigInt(watermark)) : before(position.epoch + 1, 0n))),
    complete: last === null && current,
    readAt,
  }
}

/** Everything that is final now has been read: where a tail begins. */
export async function currentWatermark(db: Queryable, log: EventLog<unknown> = EVENTS): Promise<Bookmark> {
  const [now] = await db.run(logEnds(log), [])
  return bookmarkAt(now!.epoch, BigInt(now!.watermark))
}

async function beginning(db: Queryable, log: EventLog<unknown>): Promise<Bookmark> {
  const [now] = await db.run(logEnds(log), [])
  return { epoch: now!.epoch, position: before(now!.oldestEpoch, BigInt(now!.oldestXid)), seen: null }
}

const eventOf = (row: EventColumns & { position: LogPosition }): LogEvent => ({
  position: row.position,
  tenantId: row.tenantId,
  subjectKind: row.subjectKind,
  subjectId: row.subjectId,
  sequence: row.sequence,
  type: row.type,
  from: row.from,
  to: row.to,
  reason: row.reason,
  data: row.data,
  actor: row.actor,
  correlationId: row.correlationId,
  recordedAt: row.recordedAt,
})
