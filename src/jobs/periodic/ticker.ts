import type { EngineParts } from '../engine/parts.ts'
import { redactedStack } from '../redact.ts'
import { DECLARE_SCHEDULES, FINISH_SLOT, FIRE } from './slots.ts'

/** Something that runs once per interval over all processes, whatever their number. Must not mind a double run. */
export interface PeriodicTask {
  /** Unique and dotted, as a job type is. */
  readonly name: string
  readonly everyMs: number
  run(parts: EngineParts): Promise<void>
}

/**
 * Asks for due slots and runs their tasks, one after the other. The asking is cheap and every engine does it;
 * which one gets a slot is decided by the slot's row.
 */
export class Ticker {
  readonly #parts: EngineParts
  readonly #tasks: ReadonlyMap<string, PeriodicTask>
  #timer: NodeJS.Timeout | null = null
  #round: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(parts: EngineParts, tasks: readonly PeriodicTask[]) {
    this.#parts = parts
    this.#tasks = new Map(tasks.map((task) => [task.name, task]))
  }

  async start(): Promise<void> {
    const schedules = [...this.#tasks.values()].map(({ name, everyMs }) => ({ name, everyMs }))
    await this.#parts.database.run(DECLARE_SCHEDULES, [JSON.stringify(schedules)])
    this.#schedule(0)
  }

  /** Resolves when the running task is done. */
  async stop(): Promise<void> {
    this.#stopped = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#round
  }

  #schedule(waitMs: number): void {
    if (this.#stopped) return
    this.#timer = setTimeout(() => {
      this.#round = this.#tick().finally(() => {
        const shortest = Math.min(...[...this.#tasks.values()].map((task) => task.everyMs))
        this.#schedule((shortest / 2) * (0.75 + Math.random() / 2))
      })
    }, waitMs)
  }

  async #tick(): Promise<void> {
    const { database, workerId, logger } = this.#parts
    try {
      const fired = await database.run(FIRE, [[...this.#tasks.keys()], workerId])
      for (const { schedule, slot } of fired) {
        const problem = await this.#run(schedule)
        await database.run(FINISH_SLOT, [schedule, slot, problem])
      }
    } catch (error) {
      logger.warn({ err: error }, 'The due schedules could not be read; the next round tries again.')
    }
  }

  async #run(schedule: string): Promise<string | null> {
    try {
      await this.#tasks.get(schedule)!.run(this.#parts)
      return null
    } catch (error) {
      this.#parts.logger.error({ err: error, schedule }, 'A periodic task failed; its next slot tries again.')
      return redactedStack(error)
    }
  }
}
