import type { Tx } from '../database/index.ts'
import { ConflictError, InvalidTransitionError, NotFoundError } from '../errors/index.ts'
import { appendEvents } from '../events/index.ts'
import { pairOf, waysOut, type Lifecycle } from './lifecycle.ts'
import { lockRows, writeRows, type LockedRow } from './statements.ts'

/** Who acts, in every event a call writes. */
export interface Act {
  readonly actor: string
  readonly correlationId: string
}

export interface TransitionRequest<Status extends string> {
  readonly id: string
  readonly to: Status
  readonly act: Act
  readonly reason?: string | null
  /** Data of the event; see `NewEvent.data`. */
  readonly data?: Readonly<Record<string, unknown>>
  /** The caller's `expectedVersion`; another version in the row is a `ConflictError`. */
  readonly expectedVersion?: number | undefined
  /** Other columns (snake_case) written in the same statement. Values as JSON. */
  readonly set?: Readonly<Record<string, unknown>>
}

export interface Transitioned<Status extends string> {
  readonly id: string
  readonly from: Status
  readonly to: Status
  readonly version: number
}

export interface Creation<Status extends string> {
  readonly id: string
  readonly status: Status
  readonly act: Act
  readonly data?: Readonly<Record<string, unknown>>
  readonly reason?: string | null
}

/** A transition: lock, re-read, check the pair, write, version + 1, event with that sequence. NotFoundError, ConflictError or InvalidTransitionError otherwise. */
export async function transition<Status extends string>(
  tx: Tx,
  lifecycle: Lifecycle<Status>,
  request: TransitionRequest<Status>,
): Promise<Transitioned<Status>> {
  const row = await lock(tx, lifecycle, request.id)
  if (row === null) throw new NotFoundError(lifecycle.noun)
  if (isStale(request, row.version))
    throw new ConflictError(
      `${lifecycle.noun} has changed: it is at version ${row.version}, not ${request.expectedVersion}. Read it again and decide anew.`,
      { currentVersion: row.version },
    )
  if (pairOf(lifecycle, row.status, request.to) === undefined)
    throw new InvalidTransitionError(lifecycle.noun, row.status, request.to, waysOut(lifecycle, row.status))
  const [moved] = await write(tx, lifecycle, [{ request, from: row.status }])
  return moved as Transitioned<Status>
}

/**
 * As `transition`, for many rows of one lifecycle in two statements; locks in ascending id order. Ids that are
 * gone (`status: null`), may not move, or are at another version than expected are returned apart.
 */
export async function transitionMany<Status extends string>(
  tx: Tx,
  lifecycle: Lifecycle<Status>,
  requests: readonly TransitionRequest<Status>[],
): Promise<{ moved: Transitioned<Status>[]; refused: { id: string; status: Status | null }[] }> {
  if (requests.length === 0) return { moved: [], refused: [] }
  const ids = requests.map((request) => request.id)
  if (new Set(ids).size < ids.length) throw new Error(`One row of ${lifecycle.kind} is asked to move twice at once.`)
  const rows = new Map((await lockAll(tx, lifecycle, ids)).map((row) => [row.id, row]))
  const moves: Move<Status>[] = []
  const refused: { id: string; status: Status | null }[] = []
  for (const request of requests) {
    const row = rows.get(request.id)
    const from = (row?.status ?? null) as Status | null
    if (row === undefined || from === null || isStale(request, row.version) || !pairOf(lifecycle, from, request.to))
      refused.push({ id: request.id, status: from })
    else moves.push({ request, from })
  }
  return { moved: await write(tx, lifecycle, moves), refused }
}

/** The event of a row that the caller has just inserted with version 1 (the pair null → status). */
export async function created<Status extends string>(
  tx: Tx,
  lifecycle: Lifecycle<Status>,
  creation: Creation<Status>,
): Promise<void> {
  await createdMany(tx, lifecycle, [creation])
}

/** As `created`, for many rows in one statement. */
export async function createdMany<Status extends string>(
  tx: Tx,
  lifecycle: Lifecycle<Status>,
  creations: readonly Creation<Status>[],
): Promise<void> {
  await appendEvents(
    tx,
    creations.map(({ id, status, act, data, reason }) => {
      const pair = pairOf(lifecycle, null, status)
      if (pair === undefined) throw new Error(`${lifecycle.noun} cannot be created as ${status}.`)
      return {
        tenantId: tx.tenantId,
        subjectKind: lifecycle.kind,
        subjectId: id,
        sequence: 1,
        type: pair.type,
        from: null,
        to: status,
        reason: reason ?? null,
        data: data ?? {},
        actor: act.actor,
        correlationId: act.correlationId,
      }
    }),
  )
}

/** Takes the row's lock and returns its status and version; null when it does not exist for this tenant. */
export async function lock<Status extends string>(
  tx: Tx,
  lifecycle: Lifecycle<Status>,
  id: string,
): Promise<{ status: Status; version: number } | null> {
  const [row] = await lockAll(tx, lifecycle, [id])
  return row === undefined ? null : { status: row.status as Status, version: row.version }
}

interface Move<Status extends string> {
  readonly request: TransitionRequest<Status>
  readonly from: Status
}

const lockAll = (tx: Tx, lifecycle: Lifecycle<string>, ids: readonly string[]): Promise<LockedRow[]> =>
  tx.query(lockRows(lifecycle), [JSON.stringify(ids)])

const isStale = (request: TransitionRequest<string>, version: number): boolean =>
  request.expectedVersion !== undefined && request.expectedVersion !== version

async function write<Status extends string>(
  tx: Tx,
  lifecycle: Lifecycle<Status>,
  moves: readonly Move<Status>[],
): Promise<Transitioned<Status>[]> {
  if (moves.length === 0) return []
  const columns = [...new Set(moves.flatMap(({ request }) => Object.keys(request.set ?? {})))].toSorted()
  const rows = moves.map(({ request, from }) => ({
    id: request.id,
    from,
    type: pairOf(lifecycle, from, request.to)!.type,
    reason: request.reason ?? null,
    data: request.data ?? {},
    ...request.act,
    set: { ...request.set, status: request.to },
  }))
  const written = await tx.query(writeRows(lifecycle, columns), [JSON.stringify(rows)])
  return written.map(({ id, status, version }, index) => ({
    id,
    from: moves[index]!.from,
    to: status as Status,
    version,
  }))
}
