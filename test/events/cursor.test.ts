import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isUnread, readUpTo } from '../../src/events/bookmark.ts'
import { bookmarkAt, CursorCodec, EVENTS, type Bookmark } from '../../src/events/index.ts'
import { OTHER_TENANT, TENANT } from './events.ts'

const codec = new CursorCodec('a secret of some length')
const INVALID = expect.objectContaining({ code: 'INVALID_CURSOR', path: ['after'] })

const decoding = (cursor: string, tenantId: string | null = TENANT) => {
  try {
    return codec.decode(EVENTS, tenantId, cursor)
  } catch (error) {
    return error
  }
}

const bookmarks: fc.Arbitrary<Bookmark> = fc
  .record({
    epoch: fc.integer({ min: 1, max: 100_000 }),
    behind: fc.constantFrom(0, 0, 1),
    xid: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    id: fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }),
    seen: fc.option(
      fc.record({
        ahead: fc.bigInt({ min: 0n, max: 1000n }),
        open: fc.uniqueArray(fc.bigInt({ min: 0n, max: 999n }), { maxLength: 256 }),
        own: fc.option(fc.bigInt({ min: 1n, max: 2000n })),
      }),
    ),
  })
  .map(({ epoch, behind, xid, id, seen }) => ({
    epoch,
    position: { epoch: epoch - behind, xid, id },
    seen: seen && {
      xmax: xid + seen.ahead,
      open: seen.open.map((by) => xid + by).toSorted((a, b) => (a < b ? -1 : 1)),
      own: seen.own && xid + seen.own,
    },
  }))

test('R35 every bookmark comes back as it went in, and stays short', () => {
  fc.assert(
    fc.property(bookmarks, (bookmark) => {
      const cursor = codec.encode(EVENTS, TENANT, bookmark)
      expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/)
      expect(cursor.length).toBeLessThan(bookmark.seen === null ? 70 : 900)
      expect(codec.decode(EVENTS, TENANT, cursor)).toEqual(bookmark)
    }),
  )
})

test('R35 a cursor is of one tenant, one log and one secret', () => {
  const cursor = codec.encode(EVENTS, TENANT, bookmarkAt(1, 1000n))
  expect(decoding(cursor)).toEqual(bookmarkAt(1, 1000n))
  expect(decoding(cursor, OTHER_TENANT)).toEqual(INVALID)
  expect(decoding(cursor, null)).toEqual(INVALID)
  expect(() => codec.decode({ table: 'job_event', columns: '' }, TENANT, cursor)).toThrow('was not given out')
  expect(() => new CursorCodec('another secret of some length').decode(EVENTS, TENANT, cursor)).toThrow(
    'was not given out',
  )
})

test('R35 no bit of a cursor can be changed', () => {
  const bytes = Buffer.from(codec.encode(EVENTS, TENANT, bookmarkAt(3, 123_456n)), 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const forged = Buffer.from(bytes)
    forged[bit >> 3]! ^= 1 << (bit & 7)
    expect(decoding(forged.toString('base64url'))).toEqual(INVALID)
  }
})

test('R35 nonsense is refused', () => {
  const cursor = codec.encode(EVENTS, TENANT, bookmarkAt(1, 1000n))
  for (const nonsense of [
    '',
    'a',
    'null',
    '!!',
    ` ${cursor}`,
    `${cursor}=`,
    `${cursor}A`,
    cursor.slice(1),
    'A'.repeat(9000),
  ])
    expect(decoding(nonsense), nonsense).toEqual(INVALID)
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(decoding(text)).toEqual(INVALID)
    }),
  )
})

test('a short secret is refused', () => {
  expect(() => new CursorCodec('too short')).toThrow('at least 16')
})

test('what a snapshot saw stays read while a stream goes on, and is forgotten once it lies behind', () => {
  // Seen: 10, 12 and 20 (its own). Open then: 11 and 13.
  const snapshot: Bookmark = {
    epoch: 1,
    position: { epoch: 1, xid: 10n, id: 0n },
    seen: { xmax: 15n, open: [11n, 13n], own: 20n },
  }
  const at = (xid: bigint, id = 1n) => ({ epoch: 1, xid, id })
  const unread = (bookmark: Bookmark) =>
    [9n, 10n, 11n, 12n, 13n, 14n, 15n, 16n, 19n, 20n, 21n].filter((xid) => isUnread(bookmark, at(xid)))
  expect(unread(snapshot)).toEqual([11n, 13n, 15n, 16n, 19n, 21n])
  const eleven = readUpTo(snapshot, at(11n))
  expect(unread(eleven)).toEqual([13n, 15n, 16n, 19n, 21n])
  expect(eleven.seen).toEqual({ xmax: 15n, open: [11n, 13n], own: 20n })
  const sixteen = readUpTo(eleven, at(16n))
  expect(unread(sixteen)).toEqual([19n, 21n])
  expect(readUpTo(sixteen, at(21n)).seen).toBeNull()
})
