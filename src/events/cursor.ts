import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Bookmark, SeenTransactions } from './bookmark.ts'
import { InvalidCursorError } from './errors.ts'
import type { LogEvent } from './event.ts'
import type { EventLog } from './log.ts'

/**
 * Bookmarks as opaque text: base64url of version, numbers and a keyed hash over these, the log and the tenant.
 * So a cursor fits every stream of its tenant, and no other; nobody can make one up or shift one.
 */
export class CursorCodec {
  readonly #secret: string
  /** A plain cursor is the same for all streams of a tenant, so a fan-out computes it once. */
  readonly #ofEvent = new WeakMap<LogEvent, string>()

  /** @param secret Shared by all processes of an installation; a new one expires no cursor, it invalidates all. */
  constructor(secret: string) {
    if (secret.length < 16) throw new Error('The cursor secret needs at least 16 characters.')
    this.#secret = secret
  }

  /** @param tenantId Null for an operator's cursor over all tenants. */
  encode(log: EventLog<unknown>, tenantId: string | null, bookmark: Bookmark): string {
    const body = Buffer.from(bytesOf(bookmark))
    return Buffer.concat([body, this.#tag(log, tenantId, body)]).toString('base64url')
  }

  /** Throws InvalidCursorError for anything that `encode` did not return for this log and tenant. */
  decode(log: EventLog<unknown>, tenantId: string | null, cursor: string): Bookmark {
    const bytes = Buffer.from(cursor, 'base64url')
    // Node reads past characters that are not base64url; only the one spelling that was given out counts.
    if (bytes.length <= TAG_BYTES || bytes.length > MOST_BYTES || bytes.toString('base64url') !== cursor)
      throw new InvalidCursorError()
    const body = bytes.subarray(0, -TAG_BYTES)
    if (!timingSafeEqual(bytes.subarray(-TAG_BYTES), this.#tag(log, tenantId, body))) throw new InvalidCursorError()
    return bookmarkOf(body)
  }

  /** The cursor of a bookmark that stands right at `event`, for a stream of the event's tenant. */
  ofEvent(log: EventLog<unknown>, event: LogEvent, bookmark: Bookmark): string {
    if (bookmark.seen !== null) return this.encode(log, event.tenantId, bookmark)
    let cursor = this.#ofEvent.get(event)
    if (cursor === undefined) this.#ofEvent.set(event, (cursor = this.encode(log, event.tenantId, bookmark)))
    return cursor
  }

  #tag(log: EventLog<unknown>, tenantId: string | null, body: Uint8Array): Buffer {
    return createHmac('sha256', this.#secret)
      .update(`regie cursor\n${log.table}\n${tenantId?.toLowerCase() ?? '*'}\n`)
      .update(body)
      .digest()
      .subarray(0, TAG_BYTES)
  }
}

const VERSION = 1
const TAG_BYTES = 16
const MOST_BYTES = 4096

function bytesOf({ epoch, position, seen }: Bookmark): number[] {
  const numbers = [BigInt(epoch), BigInt(epoch - position.epoch), position.xid, position.id]
  if (seen !== null) {
    const { xmax, open, own } = seen
    // Differences, since the open transactions of one moment lie close together: one or two bytes each. `own`
    // is 0 for none: no transaction that writes has that xid.
    const sorted = open.toSorted((a, b) => (a < b ? -1 : 1))
    numbers.push(xmax, own ?? 0n, BigInt(open.length), ...sorted.map((xid, i) => xid - (sorted[i - 1] ?? position.xid)))
  }
  return [VERSION, ...numbers.flatMap(varint)]
}

function bookmarkOf(bytes: Uint8Array): Bookmark {
  if (bytes[0] !== VERSION) throw new InvalidCursorError()
  const numbers = varints(bytes.subarray(1))
  const [epoch, epochsBehind, xid, id, xmax, own, , ...differences] = numbers
  if (epoch === undefined || epochsBehind === undefined || xid === undefined || id === undefined)
    throw new InvalidCursorError()
  let seen: SeenTransactions | null = null
  if (xmax !== undefined) {
    let last = xid
    seen = { xmax, open: differences.map((by) => (last += by)), own: own === 0n || own === undefined ? null : own }
  }
  return { epoch: Number(epoch), position: { epoch: Number(epoch - epochsBehind), xid, id }, seen }
}

/** Seven bits a byte, the lowest first; the eighth says that more follow. */
function varint(value: bigint): number[] {
  const bytes: number[] = []
  for (; value > 0x7fn; value >>= 7n) bytes.push(Number(value & 0x7fn) | 0x80)
  return [...bytes, Number(value)]
}

function varints(bytes: Uint8Array): bigint[] {
  const values: bigint[] = []
  let value = 0n
  let shift = 0n
  for (const byte of bytes) {
    value |= BigInt(byte & 0x7f) << shift
    shift += 7n
    if (byte > 0x7f) continue
    values.push(value)
    value = shift = 0n
  }
  return values
}
