import { v4 as uuidv4 } from 'uuid'
import { Engine, type EngineOptions } from '../../../src/jobs/index.ts'
import { Signals, silent } from '../support.ts'
import { jobDefinitions, scheduleOf } from './domain.ts'
import { type Goal, over, type Stage } from './stage.ts'
import { WiredDatabase, type WireOptions } from './wire.ts'

/** Short, so that an engine looks for lost and forgotten jobs often; the leases themselves are set by hand. */
const LEASE_MS = 150
const LAPSED = '-1 second'
const PATIENCE_MS = 20_000

/** A process that may die at any statement: a database with a wire to cut, and an engine on it if it wants one. */
export class Victim {
  readonly workerId = uuidv4()
  readonly database: WiredDatabase
  readonly #stage: Stage
  /** Whether its lease was ever taken from it, so that its jobs may be another's. */
  lapsed = false
  readonly #signals = new Signals()
  /** Nobody renews a dead worker's lease, whoever is looking when it dies. */
  readonly #buried: Promise<void>
  #engine: Engine | null = null

  constructor(stage: Stage, options: Omit<WireOptions, 'url'> = {}) {
    this.#stage = stage
    this.database = new WiredDatabase({ ...options, url: stage.db.url })
    this.#buried = this.database.death.then(() => this.lapse())
  }

  async start(own: Partial<EngineOptions> = {}): Promise<void> {
    const engine = new Engine({
      database: this.database,
      definitions: jobDefinitions,
      logger: silent,
      concurrency: 4,
      workerId: this.workerId,
      leaseMs: LEASE_MS,
      slot: 1,
      schedules: this.#stage.scheduled === true ? [scheduleOf(this.#stage.run)] : [],
      signal: this.#signals.push,
      ...own,
    })
    this.#engine = engine
    for (;;)
      try {
        await engine.start()
        break
      } catch (error) {
        // As a worker thread does: the first connection may be cut too.
        this.expectLost(error)
      }
    await this.live()
  }

  /** Its lease holds for the whole test, however slow the machine. */
  async live(): Promise<void> {
    if (!this.database.dead) await this.#setLease('1 hour')
    // It may have died meanwhile, and the dead do not come back.
    if (this.database.dead) await this.lapse()
  }

  /** Its lease is over: to everybody else it is dead, whatever it thinks itself. */
  async lapse(): Promise<void> {
    this.lapsed = true
    await this.#setLease(LAPSED)
  }

  /** Until one of its handlers has begun. */
  async begun(): Promise<void> {
    await Promise.race([this.#signals.first('BEGAN'), this.database.death])
  }

  /** Until all jobs of the run are over, and more, if the scenario is about more. */
  async untilOver(goal?: Goal): Promise<boolean> {
    return over(this.#stage, () => this.#engine?.wake(), PATIENCE_MS, goal)
  }

  wake(): void {
    this.#engine?.wake()
  }

  /** Does it again when the answer did not come, as callers do. */
  async twice(act: () => Promise<void>): Promise<void> {
    try {
      await act()
    } catch (error) {
      this.expectLost(error)
      await act()
    }
  }

  /** An error that only says that the connection is gone; any other is thrown, and so is the end of the process. */
  expectLost(error: unknown): void {
    if (this.database.dead || !/terminated|closed|not queryable/i.test(String(error))) throw error
  }

  /** Whether it has an engine that was not stopped. */
  get runs(): boolean {
    return this.#engine !== null
  }

  async stop(deadlineMs: number): Promise<void> {
    const engine = this.#engine
    this.#engine = null
    await engine?.stop(deadlineMs)
  }

  /** Leaves nothing behind in this process: in order when it lives, without a word when it is dead. */
  async end(): Promise<void> {
    const { dead } = this.database
    if (dead) await this.#buried
    await this.stop(dead ? 1 : 3_000)
    await this.database.close()
  }

  async #setLease(from: string): Promise<void> {
    await this.#stage.db.pool.query('update job_worker set lease_until = now() + $2::interval where id = $1', [
      this.workerId,
      from,
    ])
  }
}
