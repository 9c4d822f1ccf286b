import type { BatchResult } from '../batch-result.ts'
import type { EngineParts } from '../engine/parts.ts'
import { redactedStack } from '../redact.ts'
import { Rounds } from './rounds.ts'
import { DECLARE_SCHEDULES } from './sql/declare-schedules.ts'
import { FINISH_SLOT, FIRE } from './sql/on-the-spot.ts'

/**
 * Something that the engine does on the spot, once per interval over all processes, whatever their number. Only what
 * the queue cannot do for itself; everything else is a job on a schedule. Must not mind a double run.
 */
export interface PeriodicTask {
  /** Unique and dotted, as a job type is. */
  readonly name: string
  readonly everyMs: number
  run(parts: EngineParts): Promise<BatchResult | void>
}

/**
 * Asks for due slots and runs their tasks, one after the other. The asking is cheap and every engine does it;
 * which one gets a slot is decided by the slot's row.
 */
export class Ticker {
  readonly #parts: EngineParts
  readonly #tasks: ReadonlyMap<string, PeriodicTask>
  readonly #rounds: Rounds

  constructor(parts: EngineParts, tasks: readonly PeriodicTask[]) {
    this.#parts = parts
    this.#tasks = new Map(tasks.map((task) => [task.name, task]))
    const shortest = Math.min(...tasks.map((task) => task.everyMs))
    this.#rounds = new Rounds(async () => {
      await this.#tick()
      return (shortest / 2) * (0.75 + Math.random() / 2)
    })
  }

  async start(): Promise<void> {
    const rows = [...this.#tasks.values()].map(({ name, everyMs }) => ({ ...ON_THE_SPOT, name, everyMs }))
    await this.#parts.database.run(DECLARE_SCHEDULES, [JSON.stringify(rows)])
    this.#rounds.start()
  }

  /** Resolves when the running task is done. */
  stop(): Promise<void> {
    return this.#rounds.stop()
  }

  async #tick(): Promise<void> {
    const { database, workerId, logger } = this.#parts
    try {
      const fired = await database.run(FIRE, [[...this.#tasks.keys()], workerId])
      for (const { schedule, slot } of fired) {
        const { problem, result } = await this.#run(schedule)
        await database.run(FINISH_SLOT, [schedule, slot, problem, result === null ? null : JSON.stringify(result)])
      }
    } catch (error) {
      logger.warn({ err: error }, 'The due schedules could not be read; the next round tries again.')
    }
  }

  async #run(schedule: string): Promise<{ problem: string | null; result: BatchResult | null }> {
    try {
      return { problem: null, result: (await this.#tasks.get(schedule)!.run(this.#parts)) ?? null }
    } catch (error) {
      this.#parts.logger.error({ err: error, schedule }, 'A periodic task failed; its next slot tries again.')
      return { problem: redactedStack(error), result: null }
    }
  }
}

/** Without a job and a next slot: the present slot is the only one there is. */
const ON_THE_SPOT = {
  cron: null,
  timeZone: 'UTC',
  dstGap: 'RUN_AFTER',
  dstOverlap: 'ONCE',
  missed: 'RUN_LAST',
  missedLimit: 1,
  overlap: 'SKIP',
  jobType: null,
  payload: {},
  nextSlot: null,
}
