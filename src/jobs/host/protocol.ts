import type { UnknownTypeRow } from '../sql/worker.ts'

/** What a thread is started with. Plain data only: it is cloned into `workerData` (pitfall 11). */
export interface ThreadSetup {
  readonly slot: number
  /** New at every start of the slot; the id of its lease, and what tells its messages from its predecessor's. */
  readonly workerId: string
  readonly databaseUrl: string
  readonly preparedStatements: boolean
  readonly connections: number
  readonly concurrency: number
  readonly leaseMs: number
  readonly pausesMs: readonly [number, number] | undefined
  /** Absolute path of compiled JavaScript that exports `jobDefinitions`. */
  readonly definitionsModule: string
  /** Report a database that is away instead of waiting for it: true for the first threads of a process. */
  readonly failFast: boolean
  /** Two integers per slot: the beat, and how many jobs it holds. Shared, so a restart can use it again (pitfall 12). */
  readonly gauges: SharedArrayBuffer
}

/** Places of a slot's gauges. */
export const beatOf = (slot: number): number => slot * 2
export const heldOf = (slot: number): number => slot * 2 + 1

/** Often enough that a stall shows within a second, seldom enough that nobody sees it in a profile. */
export const BEAT_MS = 250

export type LogLevel = 'info' | 'warn' | 'error'

/**
 * What a thread tells. Objects only: Bree takes the bare strings `done` and `cancelled` for its own (pitfalls 1
 * and 6).
 */
export type FromThread = { readonly v: 1; readonly workerId: string } & (
  | { readonly type: 'ready' }
  | { readonly type: 'failed'; readonly problem: string }
  | { readonly type: 'committed' }
  | { readonly type: 'unknownTypes'; readonly types: readonly UnknownTypeRow[] }
  | { readonly type: 'log'; readonly level: LogLevel; readonly fields: object; readonly message: string }
)

/** What a thread is told. Bree adds the bare string `cancel` when it stops a worker; the thread ignores it. */
export type ToThread =
  | { readonly v: 1; readonly type: 'wake' }
  | { readonly v: 1; readonly type: 'stop'; readonly deadlineMs: number }
