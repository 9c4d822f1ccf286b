import type { EngineParts } from '../engine/parts.ts'
import { declareSchedules } from './declare.ts'
import { fireDue } from './fire.ts'
import { Rounds } from './rounds.ts'
import type { Schedule } from './schedule.ts'
import { DECLARES } from './sql/declare-schedules.ts'
import { LOOK } from './sql/due-schedules.ts'

/** Longest pause between two looks: an operator may have resumed a schedule, or somebody declared it anew. */
const LONGEST_PAUSE_MS = 2_000
const SPREAD_MS = 20
/** Somebody else has the schedule in hand. */
const ANOTHER_FIRES_MS = 100
/** A round that went wrong is followed by one after this, doubling up to half a minute. */
const FIRST_TROUBLE_MS = 250
const LONGEST_TROUBLE_MS = 30_000
/** A run to be cancelled may be in a transaction of its own: its schedule then waits, and must not stop the others. */
const LOCK_TIMEOUT_MS = 500

/**
 * Fires the schedules that this process declares. Every engine looks, at its own pace; the row of the schedule and the
 * rows of its slots decide which one fires. Nothing is kept here that an outage could lose (pains 10, 22–24, 39).
 */
export class Scheduler {
  readonly #parts: EngineParts
  readonly #schedules: readonly Schedule[]
  readonly #names: readonly string[]
  readonly #rounds: Rounds
  readonly #onFired: () => void
  #troubles = 0
  /** The last trouble of each schedule, said once. */
  readonly #troubled = new Map<string, string>()

  /** @throws Error when a schedule's job is not among the registry's, or two have one name */
  constructor(parts: EngineParts, schedules: readonly Schedule[], onFired: () => void) {
    const problems = schedules.flatMap(({ name, job }, index) => [
      ...(parts.registry.types.includes(job.type)
        ? []
        : [`- ${name}: its job "${job.type}" is not among the definitions of this process. Add it.`]),
      ...(schedules.findIndex((other) => other.name === name) === index
        ? []
        : [`- ${name}: another schedule has this name too. Names are unique; rename one.`]),
    ])
    if (problems.length > 0)
      throw new Error(`The schedules cannot be used; nothing was started.\n${problems.join('\n')}`)
    this.#parts = parts
    this.#schedules = schedules
    this.#names = schedules.map(({ name }) => name).sort()
    this.#onFired = onFired
    this.#rounds = new Rounds(() => this.#round())
  }

  async start(): Promise<void> {
    if (this.#schedules.length === 0) return
    await declareSchedules(this.#parts.database, this.#schedules)
    await this.#keepKnown()
    this.#rounds.start()
  }

  stop(): Promise<void> {
    return this.#rounds.stop()
  }

  async #round(): Promise<number> {
    const { database, registry, logger } = this.#parts
    try {
      await this.#keepKnown()
      const schedules = await database.run(LOOK, [this.#names, registry.types])
      this.#troubles = 0
      const waits = schedules.filter(({ inMs }) => inMs > 0).map(({ inMs }) => inMs)
      for (const { name, inMs } of schedules) if (inMs <= 0) waits.push(await this.#fire(name))
      // A little apart from the other engines, of which one is enough.
      return Math.min(LONGEST_PAUSE_MS, ...waits) + Math.random() * SPREAD_MS
    } catch (error) {
      // Said once per doubling: an outage of hours must not fill the log (pain 4).
      const wait = Math.min(FIRST_TROUBLE_MS * 2 ** this.#troubles++, LONGEST_TROUBLE_MS)
      logger.warn({ err: error }, `The due schedules could not be read; trying again in ${wait} ms.`)
      return wait
    }
  }

  /** Writes onto the worker's row what it declares: at its start, and when that row was made anew (`keepKnown`). */
  async #keepKnown(): Promise<void> {
    await this.#parts.database.run(DECLARES, [this.#parts.workerId, this.#names])
  }

  /** Answers with the wait until that schedule is to be looked at again. */
  async #fire(name: string): Promise<number> {
    const { database, registry, workerId, logger, signal } = this.#parts
    try {
      const fired = await database.rawTransaction((tx) => fireDue(tx, registry, name, workerId), {
        lockTimeoutMs: LOCK_TIMEOUT_MS,
      })
      this.#troubled.delete(name)
      if (fired === null) return ANOTHER_FIRES_MS
      const { jobs, missed, overlapped } = fired
      if (missed.length > 0)
        logger.warn(
          { schedule: name, from: missed[0], to: missed.at(-1), slots: missed.length },
          'Slots of a schedule had passed before anybody fired them; its policy leaves them out.',
        )
      if (overlapped.length > 0)
        logger.warn({ schedule: name, slots: overlapped }, 'An earlier run is not over yet; the schedule skips a run.')
      for (const { slot, jobId } of jobs) signal?.({ kind: 'FIRED', schedule: name, slot, jobId })
      if (jobs.length > 0) this.#onFired()
      // Its next slot may be a second away.
      return 0
    } catch (error) {
      const text = String(error)
      if (this.#troubled.get(name) !== text)
        logger.error(
          { err: error, schedule: name },
          'A schedule could not be fired; it is tried again every 2 seconds.',
        )
      this.#troubled.set(name, text)
      return LONGEST_PAUSE_MS
    }
  }
}
