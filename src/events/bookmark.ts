import type { LogPosition } from './event.ts'

/**
 * How far somebody has read a log; what a cursor holds. Two forms in one:
 *
 * - `seen` null: everything up to and including `position` has been read, nothing after it. Streams give these,
 *   since they read below the watermark, where the order is final.
 * - `seen` set: besides that, the transactions that a database snapshot saw. A mutation's result or a state that
 *   was read is such a snapshot: a transaction with a lower xid may still have been open then and commit later,
 *   so "everything after (xid, id)" would skip it.
 */
export interface Bookmark {
  /** Epoch of the log when this was given out; in another epoch it has expired. */
  readonly epoch: number
  readonly position: LogPosition
  readonly seen: SeenTransactions | null
}

/** Which transactions a snapshot saw: all below `xmax` but the `open` ones, and its own. */
export interface SeenTransactions {
  readonly xmax: bigint
  readonly open: readonly bigint[]
  /** The transaction that took the snapshot, when it stands at or above `xmax`. */
  readonly own: bigint | null
}

/** Negative when `a` comes first. */
export function comparePositions(a: LogPosition, b: LogPosition): number {
  if (a.epoch !== b.epoch) return a.epoch - b.epoch
  if (a.xid !== b.xid) return a.xid < b.xid ? -1 : 1
  return a.id === b.id ? 0 : a.id < b.id ? -1 : 1
}

/** The position before the first event of a transaction: ids begin at 1. */
export const before = (epoch: number, xid: bigint): LogPosition => ({ epoch, xid, id: 0n })

/** Everything below the watermark has been read. */
export const bookmarkAt = (epoch: number, watermark: bigint): Bookmark => ({
  epoch,
  position: before(epoch, watermark),
  seen: null,
})

/** Whether an event at this position is still to be read. */
export function isUnread(bookmark: Bookmark, event: LogPosition): boolean {
  if (comparePositions(event, bookmark.position) <= 0) return false
  const { seen } = bookmark
  if (seen === null || event.epoch !== bookmark.epoch) return true
  return event.xid !== seen.own && (event.xid >= seen.xmax || seen.open.includes(event.xid))
}

/** The bookmark after reading on to `position`. What the snapshot saw is forgotten once it lies behind. */
export function readUpTo(bookmark: Bookmark, position: LogPosition): Bookmark {
  return { epoch: bookmark.epoch, position, seen: bookmark.seen && beyond(bookmark.seen, position.xid) }
}

/** Of the transaction that was read last there may be more rows, on the next page. */
function beyond(seen: SeenTransactions, xid: bigint): SeenTransactions | null {
  const own = seen.own !== null && seen.own >= xid ? seen.own : null
  if (own === null && seen.xmax <= xid) return null
  return { xmax: seen.xmax, open: seen.open.filter((open) => open >= xid), own }
}
