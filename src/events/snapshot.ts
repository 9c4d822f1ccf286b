import { statement, type Queryable } from '../database/index.ts'
import { before, type Bookmark } from './bookmark.ts'
import type { CursorCodec } from './cursor.ts'
import { EVENTS } from './log.ts'

/**
 * The cursor of this moment, for the result of a mutation (call it after the writes) or of a read (in the same
 * REPEATABLE READ transaction). A stream that resumes from it gets every event of a transaction that this one did
 * not see, also those that were open here with a lower xid, and none of its own.
 */
export async function currentCursor(tx: Queryable, tenantId: string | null, codec: CursorCodec): Promise<string> {
  return codec.encode(EVENTS, tenantId, await currentBookmark(tx))
}

/** As `currentCursor`, not yet made opaque. */
export async function currentBookmark(tx: Queryable): Promise<Bookmark> {
  const [now] = await tx.run(SNAPSHOT, [])
  const { epoch, own, standby } = now!
  const [xmin, xmax, list] = now!.snapshot.split(':') as [string, string, string]
  const open = list === '' ? [] : list.split(',').map(BigInt)
  const position = before(epoch, BigInt(xmin))
  // Without the list the bookmark stands before everything that was not final yet: events that the snapshot saw
  // beyond that come a second time, none is left out. Waiting instead is no choice: a mutation would wait for
  // itself. A standby's snapshot lists no open transactions, so what it calls seen may not have been.
  if (standby || open.length > MOST_OPEN) return { epoch, position, seen: null }
  const beyond = own !== null && BigInt(own) >= BigInt(xmax) ? BigInt(own) : null
  return { epoch, position, seen: { xmax: BigInt(xmax), open, own: beyond } }
}

// At one or two bytes each a cursor stays below 800 characters; more writers at once than this are rare.
const MOST_OPEN = 256

const SNAPSHOT = statement<{ snapshot: string; own: string | null; epoch: number; standby: boolean }>(
  'events.snapshot',
  `select pg_current_snapshot()::text as snapshot, pg_current_xact_id_if_assigned()::text as own,
     event_log_current_epoch() as epoch, pg_is_in_recovery() as standby`,
)
