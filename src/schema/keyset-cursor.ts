import { isStorable } from '../database/index.ts'
import { apiError } from './errors/index.ts'

// Written into every cursor, so that a list can change its order and still know the cursors of before.
const VERSION = 'v1:'
const LONGEST = 1_000

/** The place of a row in its list as opaque text: what the list is ordered by, not the row. */
export const encodeKey = (key: unknown): string => Buffer.from(VERSION + JSON.stringify(key)).toString('base64url')

/** @throws BAD_USER_INPUT when the text is no cursor of this list */
export function decodeKey<Key>(cursor: string, argument: string, isKey: (key: unknown) => key is Key): Key {
  const key = cursor.length > LONGEST ? undefined : parsed(Buffer.from(cursor, 'base64url').toString('utf8'))
  if (key !== undefined && isKey(key)) return key
  throw apiError('BAD_USER_INPUT', `"${argument}" must be a cursor that this list gave out.`, { inputPath: [argument] })
}

function parsed(text: string): unknown {
  if (!text.startsWith(VERSION)) return undefined
  try {
    return JSON.parse(text.slice(VERSION.length)) as unknown
  } catch {
    return undefined
  }
}

/** Checks a key that is an object of strings, integers and UUIDs: `keyIs({ name: 'string', id: 'string' })`. */
export function keyIs<Shape extends Readonly<Record<string, 'string' | 'number' | 'uuid'>>>(shape: Shape) {
  type Key = { readonly [Name in keyof Shape]: Shape[Name] extends 'number' ? number : string }
  return (key: unknown): key is Key =>
    typeof key === 'object' &&
    key !== null &&
    Object.keys(key).length === Object.keys(shape).length &&
    Object.entries(shape).every(([name, kind]) => holds((key as Record<string, unknown>)[name], kind))
}

function holds(value: unknown, kind: 'string' | 'number' | 'uuid'): boolean {
  // A place in a key reaches SQL: what its column cannot hold must not get so far. No variable is looked into here.
  if (kind === 'number') return Number.isInteger(value) && Math.abs(value as number) <= LARGEST_INTEGER
  return typeof value === 'string' && (kind === 'uuid' ? UUID.test(value) : isStorable(value))
}

const LARGEST_INTEGER = 2 ** 31 - 1

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
