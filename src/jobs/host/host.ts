import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { HintChannel } from '../../events/index.ts'
import { makePool, projectFolder, queryable, type Queryable, StartupError } from '../../database/index.ts'
import type { JobLogger } from '../job-logger.ts'
import { keepWorkers, LEASE_MS, removeWorker } from '../lease.ts'
import type { UnknownTypeRow } from '../sql/worker.ts'
import { jobHints } from './hints.ts'
import { beatOf, type FromThread, heldOf, type ThreadSetup, type ToThread } from './protocol.ts'
import type { Jobs, JobsOptions, JobsStats } from './jobs.ts'
import { saidSeldom } from './seldom.ts'
import { Slot } from './slot.ts'
import { Threads } from './threads.ts'

// Threads run compiled JavaScript only (pitfall 20): when this file itself runs as TypeScript, in a test, the
// compiled worker is under dist/.
const WORKER_FILE = import.meta.url.endsWith('.ts')
  ? join(projectFolder(), 'dist/src/jobs/host/worker.js')
  : fileURLToPath(new URL('./worker.js', import.meta.url))

const WATCH_MS = 1_000
const LOADING_MS = 60_000
const MAX_OLD_GENERATION_MB = 256

const WAKE: ToThread = { v: 1, type: 'wake' }
/** How much later than the first the other threads are woken. */
const OTHERS_LATER_MS = 3

/** See `startJobs`. */
export class Host implements Jobs {
  readonly #options: JobsOptions
  readonly #logger: JobLogger
  readonly #leaseMs: number
  readonly #slots: readonly Slot[]
  readonly #byName: ReadonlyMap<string, Slot>
  readonly #gauges: SharedArrayBuffer
  readonly #readings: Int32Array
  readonly #threads: Threads
  readonly #pool: ReturnType<typeof makePool>
  readonly #database: Queryable
  readonly #hints: HintChannel | null
  readonly #restarts = new Set<NodeJS.Timeout>()
  #watch: NodeJS.Timeout | null = null
  /** Set while the other threads are still to be woken. */
  #wakingOthers: NodeJS.Timeout | null = null
  #renewedAt = 0
  #stopping: Promise<void> | null = null
  #unknownTypes: readonly UnknownTypeRow[] = []
  /** Set until every thread is ready for the first time. */
  #starting: { ready: () => void; failed: (problem: string) => void } | null = null

  constructor(options: JobsOptions) {
    this.#options = options
    this.#logger = saidSeldom(options.logger)
    this.#leaseMs = options.leaseMs ?? LEASE_MS
    this.#slots = Array.from({ length: options.threads }, (_, number) => new Slot(number))
    this.#byName = new Map(this.#slots.map((slot) => [slot.name, slot]))
    this.#gauges = new SharedArrayBuffer(8 * Math.max(1, options.threads))
    this.#readings = new Int32Array(this.#gauges)
    this.#threads = new Threads(WORKER_FILE, [...this.#byName.keys()], MAX_OLD_GENERATION_MB, {
      setupOf: (name) => this.#setupOf(this.#byName.get(name)!),
      onMessage: (name, message) => this.#onMessage(this.#byName.get(name)!, message as FromThread),
      onError: (name, error) => this.#onError(this.#byName.get(name)!, error),
      onExit: (name) => this.#onExit(this.#byName.get(name)!),
    })
    this.#pool = makePool({
      url: options.databaseUrl,
      // One for the leases, and one that listens.
      max: options.notify ? 2 : 1,
      applicationName: 'regie leases',
      preparedStatements: options.preparedStatements,
    })
    this.#database = queryable(this.#pool, options.preparedStatements)
    this.#hints = options.notify ? jobHints(this.#pool) : null
  }

  async start(): Promise<void> {
    if (this.#slots.length === 0) return
    const problem = new Promise<string | null>((resolve) => {
      this.#starting = { ready: () => resolve(null), failed: resolve }
    })
    for (const slot of this.#slots) await this.#threads.run(slot.name)
    this.#watch = setInterval(() => void this.#lookAfter(), Math.min(WATCH_MS, this.#leaseMs / 6))
    const found = await problem
    this.#starting = null
    if (found === null) return this.#hints?.listen(() => this.#wakeThreads())
    await this.stop(1_000)
    throw new StartupError('The job engine did not start.', found, 'Nothing was claimed; correct this and start again.')
  }

  wake(): void {
    this.#wakeThreads()
    this.#hints?.announce()
  }

  stats(): JobsStats {
    return {
      threads: this.#slots.map((slot) => ({
        slot: slot.number,
        state: slot.state,
        restarts: slot.restarts,
        held: this.#heldBy(slot),
      })),
      unknownTypes: this.#unknownTypes,
    }
  }

  stop(deadlineMs = 10_000): Promise<void> {
    this.#stopping ??= this.#stop(deadlineMs)
    return this.#stopping
  }

  async #stop(deadlineMs: number): Promise<void> {
    for (const timer of this.#restarts) clearTimeout(timer)
    if (this.#wakingOthers !== null) clearTimeout(this.#wakingOthers)
    // A moment for the thread to leave after its engine has stopped, before the kill.
    this.#tellAll({ v: 1, type: 'stop', deadlineMs: Math.max(100, deadlineMs - 500) })
    const killed = await this.#threads.stopped(deadlineMs)
    if (killed.length > 0)
      this.#options.logger.warn(
        { threads: killed },
        'Threads that did not stop in time were killed; their jobs go on elsewhere.',
      )
    if (this.#watch !== null) clearInterval(this.#watch)
    // Every thread is gone; one that ran out of time may have left its lease behind.
    for (const slot of this.#slots) {
      slot.state = 'STOPPED'
      await this.#release(slot.workerId)
    }
    this.#hints?.stop()
    await this.#pool.end()
  }

  /**
   * The thread that holds least first, and the others a moment later, in case it was more than one can take: all at
   * once they would look at the same rows, and keep each other from the processor meanwhile (2.9 instead of 3.6 ms from
   * commit to begin with two threads on two cores).
   */
  #wakeThreads(): void {
    if (this.#wakingOthers !== null) return
    const [first, ...others] = this.#slots
      .filter(({ name }) => this.#threads.alive.includes(name))
      .toSorted((a, b) => this.#heldBy(a) - this.#heldBy(b))
      .map(({ name }) => name)
    if (first === undefined) return
    this.#threads.post(first, WAKE)
    if (others.length === 0) return
    this.#wakingOthers = setTimeout(() => {
      this.#wakingOthers = null
      for (const name of others) this.#threads.post(name, WAKE)
    }, OTHERS_LATER_MS)
  }

  #heldBy({ number }: Slot): number {
    return Atomics.load(this.#readings, heldOf(number))
  }

  #tellAll(message: ToThread): void {
    for (const name of this.#threads.alive) this.#threads.post(name, message)
  }

  #setupOf(slot: Slot): ThreadSetup {
    const { databaseUrl, preparedStatements, definitionsModule } = this.#options
    return {
      slot: slot.number,
      workerId: slot.begin(),
      databaseUrl,
      preparedStatements,
      definitionsModule,
      connections: Math.max(3, this.#options.connectionsPerThread ?? 8),
      concurrency: this.#options.concurrencyPerThread ?? 16,
      leaseMs: this.#leaseMs,
      pausesMs: this.#options.pausesMs,
      failFast: this.#starting !== null,
      gauges: this.#gauges,
    }
  }

  #onMessage(slot: Slot, message: FromThread): void {
    // What a killed thread had already sent may arrive after its successor's start.
    if (message.workerId !== slot.workerId) return
    if (message.type === 'ready') {
      slot.state = 'RUNNING'
      if (this.#slots.every((other) => other.state === 'RUNNING')) this.#starting?.ready()
    } else if (message.type === 'failed') {
      slot.reported = true
      this.#starting?.failed(message.problem)
      this.#options.logger.error({ slot: slot.number }, `A worker thread could not start: ${message.problem}`)
    } else if (message.type === 'committed') this.#options.onCommitted?.()
    else if (message.type === 'unknownTypes') this.#unknownTypes = message.types
    else this.#options.logger[message.level](message.fields, message.message)
  }

  #onError(slot: Slot, error: Error): void {
    if (slot.reported || this.#stopping !== null) return
    slot.reported = true
    this.#options.logger.error({ err: error, slot: slot.number }, 'A worker thread crashed.')
  }

  /** Bree restarts nothing (pitfall 5). */
  #onExit(slot: Slot): void {
    if (this.#stopping !== null) return
    this.#starting?.failed('A worker thread ended before it was ready; the log has its error.')
    const { waitMs, parked } = slot.afterEnd()
    const fields = { slot: slot.number, waitMs }
    if (parked)
      this.#options.logger.error(fields, 'A worker thread keeps crashing; its place stays empty for five minutes.')
    else this.#options.logger.warn(fields, 'A worker thread ended and is started again.')
    // The thread is gone for certain, so its jobs need not wait for the lease to lapse.
    void this.#release(slot.workerId)
    const timer = setTimeout(() => {
      this.#restarts.delete(timer)
      this.#threads.run(slot.name).catch((error: unknown) => {
        this.#options.logger.error({ err: error, slot: slot.number }, 'A worker thread could not be started again.')
        this.#onExit(slot)
      })
    }, waitMs)
    this.#restarts.add(timer)
  }

  async #release(workerId: string): Promise<void> {
    try {
      await removeWorker(this.#database, workerId)
    } catch (error) {
      this.#options.logger.warn(
        { err: error, workerId },
        'The lease of a dead thread could not be released; it will lapse.',
      )
    }
  }

  /**
   * The lease is renewed here, not in the thread: a handler that computes for ten seconds keeps it, a thread whose
   * event loop stands still for too long loses it, and then its life.
   */
  async #lookAfter(): Promise<void> {
    const stallMs = this.#options.stallMs ?? 30_000
    const turning: Slot[] = []
    for (const slot of this.#slots) {
      if (slot.state !== 'RUNNING' && slot.state !== 'STARTING') continue
      const stalledFor = slot.stalledFor(Atomics.load(this.#readings, beatOf(slot.number)))
      // Loading the domains' modules blocks a thread for longer than a handler may.
      const allowedMs = slot.state === 'RUNNING' ? stallMs : Math.max(stallMs, LOADING_MS)
      if (stalledFor < allowedMs) turning.push(slot)
      else await this.#killStalled(slot, stalledFor)
    }
    if (performance.now() - this.#renewedAt < this.#leaseMs / 3) return
    this.#renewedAt = performance.now()
    const workers = turning.filter((slot) => slot.state === 'RUNNING')
    try {
      await keepWorkers(
        this.#database,
        workers.map(({ workerId: id, number: slot }) => ({ id, slot })),
        this.#leaseMs,
      )
    } catch (error) {
      this.#renewedAt = 0
      this.#logger.warn({ err: error }, 'The leases of the worker threads could not be renewed.')
    }
  }

  async #killStalled(slot: Slot, stalledFor: number): Promise<void> {
    slot.reported = true
    this.#options.logger.error(
      { slot: slot.number, stalledForMs: Math.round(stalledFor) },
      'A worker thread stands still and is killed. One of its handlers computes without a break, or waits in a blocking call.',
    )
    await this.#threads.kill(slot.name)
  }
}
