import { createHash } from 'node:crypto'
import type { Call } from '../domain/call.ts'
import { idempotencyKeyOf } from '../domain/idempotency-key.ts'
import { IdempotencyKeyReusedError } from '../errors/index.ts'
import { KEEP_SUBJECTS, READ_KEY, TAKE_KEY } from './idempotency-statements.ts'
import { watchedDatabase } from './watched-database.ts'

/** How long a key is remembered. */
export const KEY_HOURS = 48

/** A thing that the first request with this key wrote an event about. */
export interface Subject {
  readonly kind: string
  readonly id: string
}

export interface KeyedRequest<T> {
  /** Name of the mutation: the same key may serve two mutations. */
  readonly mutation: string
  /** The whole input; the same key with another one is refused. Without a key nothing is remembered. */
  readonly input: { readonly idempotencyKey?: string | null | undefined }
  /** The answer to a repetition, read anew from what the first request did. */
  readonly replay: (subjects: readonly Subject[]) => Promise<T>
}

/**
 * Carries out a mutation once per idempotency key. The key is taken in the transaction that the domain opens,
 * before anything else in it: so the key is kept exactly when the effect is, whatever happens to the process or
 * the connection. A domain function that opens several transactions takes it in the first.
 * @throws IdempotencyKeyReusedError when the key came with another input before
 */
export async function onceByKey<T>(
  call: Call,
  { mutation, input, replay }: KeyedRequest<T>,
  act: (call: Call) => Promise<T>,
): Promise<T> {
  const key = idempotencyKeyOf(input)
  if (key === null) return act(call)
  const requestHash = hashOf(input)
  const of = [call.viewer.subject, mutation, key]
  const database = watchedDatabase(call.database, {
    atStart: async (tx, nth) => {
      if (nth > 0) return
      const [row] = await tx.query(TAKE_KEY, [...of, requestHash, KEY_HOURS])
      if (row === undefined) throw new UsedBefore()
    },
    atEnd: async (tx, nth) => {
      if (nth === 0) await tx.query(KEEP_SUBJECTS, of)
    },
  })
  try {
    return await act({ ...call, database })
  } catch (error) {
    if (!(error instanceof UsedBefore)) throw error
  }
  const [earlier] = await call.database.run(READ_KEY, [call.viewer.tenantId, ...of])
  // Gone between the two reads only when it lapsed in this very moment.
  if (earlier === undefined) return onceByKey(call, { mutation, input, replay }, act)
  if (earlier.requestHash !== requestHash) throw new IdempotencyKeyReusedError(key)
  return replay(earlier.subjects)
}

/** Leaves the domain's transaction when the key in it turns out to be used. Never leaves this file. */
class UsedBefore extends Error {}

/** The same input has the same hash however its keys were ordered. The key itself is no part of the request. */
function hashOf(input: object): string {
  const { idempotencyKey: _, ...request } = input as Record<string, unknown>
  return createHash('sha256').update(canonical(request)).digest('hex')
}

function canonical(value: unknown): string {
  if (typeof value === 'bigint') return `"${value}"`
  if (value instanceof Date || typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const entries = Object.entries(value).filter(([, item]) => item !== undefined)
  entries.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([name, item]) => `${JSON.stringify(name)}:${canonical(item)}`).join(',')}}`
}
