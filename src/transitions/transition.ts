import type { Tx } from '../database/index.ts'
import type { Lifecycle } from './lifecycle.ts'

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

/** A transition: lock, re-read, check the pair, write, version + 1, event with that sequence. NotFoundError, ConflictError or InvalidTransitionError otherwise. */
export declare function transition<Status extends string>(
  tx: Tx,
  lifecycle: Lifecycle<Status>,
  request: TransitionRequest<Status>,
): Promise<Transitioned<Status>>

/** As `transition`, for many rows of one lifecycle in two statements; locks in ascending id order; ids that are gone or may not move are returned apart. */
export declare function transitionMany<Status extends string>(
  tx: Tx,
  lifecycle: Lifecycle<Status>,
  requests: readonly TransitionRequest<Status>[],
): Promise<{ moved: Transitioned<Status>[]; refused: { id: string; status: Status | null }[] }>

/** The event of a row that the caller has just inserted with version 1 (the pair null → status). */
export declare function created<Status extends string>(
  tx: Tx,
  lifecycle: Lifecycle<Status>,
  created: { id: string; status: Status; act: Act; data?: Readonly<Record<string, unknown>>; reason?: string | null },
): Promise<void>

/** Takes the row's lock and returns its status and version; null when it does not exist for this tenant. */
export declare function lock<Status extends string>(
  tx: Tx,
  lifecycle: Lifecycle<Status>,
  id: string,
): Promise<{ status: Status; version: number } | null>
