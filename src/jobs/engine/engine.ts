import { v4 as uuidv4 } from 'uuid'
import type { Database } from '../../database/index.ts'
import { type AnyJobDefinition, JobRegistry } from '../registry.ts'
import { keepWorkers, LEASE_MS, removeWorker } from '../lease.ts'
import { UNKNOWN_TYPES, type UnknownTypeRow } from '../sql/worker.ts'
import { rescueTask, WATCHING } from '../periodic/on-the-spot.ts'
import type { Schedule } from '../periodic/schedule.ts'
import { Scheduler } from '../periodic/scheduler.ts'
import { Ticker } from '../periodic/ticker.ts'
import { Isolation } from '../gates/isolation.ts'
import { Claimer } from './claimer.ts'
import { giveBackForgotten } from './forgotten.ts'
import type { JobLogger } from '../job-logger.ts'
import { declareTypes, keepKnown } from '../types/declare-types.ts'
import type { EngineParts, EngineSignal } from './parts.ts'
import { Permits } from './permits.ts'
import { Workbench } from './workbench.ts'

export interface EngineOptions {
  readonly database: Database
  readonly definitions: readonly AnyJobDefinition[]
  /** What this process fires, besides other processes. A host adds the engine's own. Default: none. */
  readonly schedules?: readonly Schedule[]
  /** Most handlers at work at once. Default 16. */
  readonly concurrency?: number
  readonly logger: JobLogger
  /** Called after commits that others may want to see: to hint the event tail. */
  readonly onCommitted?: () => void
  /** Given by a host that renews the lease itself, from another thread. Otherwise the engine makes one and renews it. */
  readonly workerId?: string
  /** Which of the process's engines this is; the first one (0, the default) counts and watches. */
  readonly slot?: number
  /** How long the lease outlives its last renewal, in milliseconds. Default 15,000. */
  readonly leaseMs?: number
  /** The first and the longest pause between two looks while nothing is due. Default 5 and 1,000 ms. */
  readonly pausesMs?: readonly [number, number] | undefined
  /** Told at start and then every 30 seconds which types wait that this process does not know (J33, pain 14). */
  readonly onUnknownTypes?: (types: readonly UnknownTypeRow[]) => void
  readonly signal?: (signal: EngineSignal) => void
}

/** Also for jobs whose worker said that it goes, or was seen to: their lease need not lapse first. */
const RESCUE_MS = 5_000

const UNKNOWN_TYPES_MS = 30_000

/** The first and the longest pause between two looks that found nothing; it doubles from the one to the other. */
const PAUSES_MS = [5, 1_000] as const

/** Without room for another job, when nothing says that there is some. */
const NO_ROOM_MS = 1_000

/** Most jobs in one claim; beyond, a batch no longer gets cheaper per job. */
const LARGEST_CLAIM = 500

/**
 * Claims due jobs, runs their handlers and ends them, on one thread. Any number of engines work on one database;
 * what keeps them apart is in the rows.
 */
export class Engine {
  readonly workerId: string
  readonly #options: EngineOptions
  readonly #parts: EngineParts
  readonly #claimer: Claimer
  readonly #workbench: Workbench
  readonly #isolation: Isolation
  readonly #leaseMs: number
  readonly #rescueMs: number
  readonly #periodic: readonly (Ticker | Scheduler)[]
  #loop: Promise<void> | null = null
  readonly #stopping = new AbortController()
  #renewal: NodeJS.Timeout | null = null
  #unknownWatch: NodeJS.Timeout | null = null
  #ownRowWatch: NodeJS.Timeout | null = null
  #unknownTypes = ''
  #wake: (() => void) | null = null
  #woken = false

  constructor(options: EngineOptions) {
    this.#options = options
    this.workerId = options.workerId ?? uuidv4()
    this.#leaseMs = options.leaseMs ?? LEASE_MS
    this.#rescueMs = Math.min(RESCUE_MS, Math.ceil(this.#leaseMs / 3))
    const { database } = options
    this.#parts = {
      database,
      registry: new JobRegistry(options.definitions),
      workerId: this.workerId,
      logger: options.logger,
      // One connection stays free for the claim, one for the settling.
      transactions: new Permits(Math.max(1, database.pool.options.max - 2)),
      onCommitted: options.onCommitted ?? (() => {}),
      signal: options.signal ?? null,
    }
    this.#claimer = new Claimer(this.#parts)
    this.#workbench = new Workbench(this.#parts, options.concurrency ?? 16, () => this.#wakeUp())
    this.#isolation = new Isolation(this.#parts, this.#workbench)
    this.#periodic = [
      // The rescue by itself: nothing that takes long may keep it waiting.
      new Ticker(this.#parts, [rescueTask(this.#rescueMs)]),
      ...((options.slot ?? 0) === 0 ? [new Ticker(this.#parts, WATCHING)] : []),
      new Scheduler(this.#parts, options.schedules ?? [], () => this.wake()),
    ]
  }

  /** How many jobs are in its hands: claimed and not yet ended in the database. */
  get held(): number {
    return this.#workbench.held
  }

  async start(): Promise<void> {
    await this.#keepLease()
    await declareTypes(this.#parts.database, this.#parts.registry, this.workerId)
    if (this.#options.workerId === undefined) this.#renewal = this.#everyThird()
    for (const periodic of this.#periodic) await periodic.start()
    this.#ownRowWatch = setInterval(() => void this.#lookAfterOwnRow(), this.#rescueMs)
    if ((this.#options.slot ?? 0) === 0) {
      await this.#reportUnknownTypes()
      this.#unknownWatch = setInterval(() => void this.#reportUnknownTypes(), UNKNOWN_TYPES_MS)
    }
    this.#loop = this.#claimUntilStopped()
  }

  /** Something was enqueued: look now instead of at the next poll. */
  wake(): void {
    this.#claimer.hint()
    this.#woken = true
    this.#wakeUp()
  }

  /**
   * Stops claiming, gives back what was not begun, lets handlers finish until half of the time is over, then
   * aborts them; what is still running at the end is given back as well, without an attempt spent. Releases the
   * lease last. Resolves at the deadline at the latest, even without a database.
   */
  async stop(deadlineMs = 10_000): Promise<void> {
    this.#stopping.abort()
    this.#wakeUp()
    const deadline = new Promise<void>((resolve) => setTimeout(resolve, deadlineMs).unref())
    const stopped = (async () => {
      await this.#loop
      await Promise.all([this.#workbench.close(deadlineMs), ...this.#periodic.map((periodic) => periodic.stop())])
      await removeWorker(this.#parts.database, this.workerId)
    })().catch((error: unknown) =>
      this.#parts.logger.error(
        { err: error },
        'The engine did not stop cleanly; its jobs are rescued when its lease lapses.',
      ),
    )
    await Promise.race([stopped, deadline])
    for (const timer of [this.#renewal, this.#unknownWatch, this.#ownRowWatch]) if (timer !== null) clearInterval(timer)
    this.#workbench.abandon()
  }

  async #claimUntilStopped(): Promise<void> {
    const [shortest, longest] = this.#options.pausesMs ?? PAUSES_MS
    let pause: number = shortest
    let troubles = 0
    while (!this.#stopping.signal.aborted) {
      this.#woken = false
      try {
        await this.#isolation.visit(this.#stopping.signal)
        const room = this.#workbench.room()
        if (room.jobs <= 0 || this.#stopping.signal.aborted) {
          await this.#sleep(NO_ROOM_MS)
          continue
        }
        const { gated, jobs, nextDueInMs } = await this.#claimer.claim({
          ...room,
          jobs: Math.min(room.jobs, LARGEST_CLAIM),
        })
        troubles = 0
        if (gated.length + jobs.length > 0) {
          pause = shortest
          this.#parts.signal?.({ kind: 'CLAIMED', jobs: gated.length + jobs.length })
          this.#workbench.add(gated, jobs)
          continue
        }
        this.#parts.signal?.({ kind: 'IDLE' })
        if (!this.#woken) await this.#sleep(Math.min(pause * (1 + Math.random() / 4), nextDueInMs ?? Infinity))
        pause = Math.min(pause * 2, longest)
      } catch (error) {
        // One line per doubling: a database that is away for an hour must not fill the log (pain 4).
        const wait = Math.min(100 * 2 ** troubles++, 30_000)
        this.#parts.logger.error({ err: error }, `No jobs could be claimed; trying again in ${wait} ms.`)
        await this.#sleep(wait)
      }
    }
  }

  async #lookAfterOwnRow(): Promise<void> {
    try {
      const { database, registry } = this.#parts
      await keepKnown(database, registry, this.workerId)
      await giveBackForgotten(this.#parts, (id, claimEpoch) => this.#workbench.holds(id, claimEpoch))
    } catch (error) {
      this.#parts.logger.warn({ err: error }, 'Could not look after this worker’s own row; the next look is soon.')
    }
  }

  async #reportUnknownTypes(): Promise<void> {
    const { database, registry, logger, signal } = this.#parts
    try {
      const types = await database.run(UNKNOWN_TYPES, [registry.types])
      this.#options.onUnknownTypes?.(types)
      const names = types.map((row) => row.type)
      signal?.({ kind: 'UNKNOWN_TYPES', types: names })
      // Said when it changes, not every time.
      if (names.join() !== this.#unknownTypes && names.length > 0)
        logger.warn({ types }, `Jobs wait whose type this release does not know: ${names.join(', ')}. They are kept.`)
      this.#unknownTypes = names.join()
    } catch (error) {
      logger.warn({ err: error }, 'Could not look for jobs of unknown types; the next look is in half a minute.')
    }
  }

  #keepLease(): Promise<void> {
    return keepWorkers(this.#parts.database, [{ id: this.workerId, slot: this.#options.slot ?? 0 }], this.#leaseMs)
  }

  #everyThird(): NodeJS.Timeout {
    return setInterval(() => {
      this.#keepLease().catch((error: unknown) =>
        this.#parts.logger.warn({ err: error }, 'The lease of this worker could not be renewed.'),
      )
    }, this.#leaseMs / 3)
  }

  #sleep(ms: number): Promise<void> {
    if (this.#stopping.signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#wakeUp(), ms)
      this.#wake = () => {
        clearTimeout(timer)
        this.#wake = null
        resolve()
      }
    })
  }

  #wakeUp(): void {
    this.#wake?.()
  }
}
