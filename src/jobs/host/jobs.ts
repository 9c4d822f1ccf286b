import type { JobLogger } from '../job-logger.ts'
import type { UnknownTypeRow } from '../sql/worker.ts'
import type { SlotState } from './slot.ts'

export interface JobsOptions {
  readonly databaseUrl: string
  /** False behind a pooler in transaction mode. */
  readonly preparedStatements: boolean
  /** Worker threads; 0 for a process that only enqueues. */
  readonly threads: number
  /** Most handlers at work at once in one thread. Default 16. */
  readonly concurrencyPerThread?: number
  /** Size of each thread's pool, at least 3. Handlers' transactions take at most two less at once. Default 8. */
  readonly connectionsPerThread?: number
  /** Absolute path of compiled JavaScript that exports `jobDefinitions: JobDefinition[]` and may export `jobSchedules: Schedule[]`. */
  readonly definitionsModule: string
  /** Tell other processes of what was enqueued and hear of theirs, over LISTEN: not behind a pooler. Default false. */
  readonly notify?: boolean
  /** The first and the longest pause between two looks while nothing is due, in milliseconds. Default 5 and 1,000. */
  readonly pausesMs?: readonly [number, number] | undefined
  readonly logger: JobLogger
  /** A thread committed something that others may want to see; coalesced. */
  readonly onCommitted?: () => void
  /** How long a dead process's jobs stay its own, in milliseconds. Default 15,000. */
  readonly leaseMs?: number
  /** A thread whose event loop stands still for so long is killed. Default 30,000. */
  readonly stallMs?: number
}

export interface ThreadStats {
  readonly slot: number
  readonly state: SlotState
  /** Jobs claimed and not yet ended. */
  readonly held: number
  readonly restarts: number
}

export interface JobsStats {
  readonly threads: readonly ThreadStats[]
  /** Types that wait and that no thread of this process knows. */
  readonly unknownTypes: readonly UnknownTypeRow[]
}

/** The running job engine of one process. */
export interface Jobs {
  /** Something was enqueued and committed: look now instead of at the next poll, here and elsewhere. Cheap, coalesced. */
  wake(): void
  stats(): JobsStats
  /** See `Engine.stop`; threads that do not end in time are killed and their jobs rescued elsewhere. */
  stop(deadlineMs?: number): Promise<void>
}

/**
 * Starts the worker threads and looks after them: renews their leases as long as their event loops turn, kills
 * the one that hangs, restarts what crashed. Resolves when all of them claim jobs.
 *
 * Signals are the main thread's alone (pitfall 19): the process decides when to call `stop`. A thread is no
 * boundary for memory (pitfall 18): where that matters, run the engine in a process of its own (`--role worker`).
 *
 * @throws StartupError when a thread cannot start: the definitions are wrong, the database is away
 */
export async function startJobs(options: JobsOptions): Promise<Jobs> {
  // Only a main thread needs Bree; the worker threads come past this file through the job definitions.
  const { Host } = await import('./host.ts')
  const host = new Host(options)
  await host.start()
  return host
}
