import { claimGated } from '../engine/claimer.ts'
import type { EngineParts } from '../engine/parts.ts'
import type { Workbench } from '../engine/workbench.ts'
import type { ClaimedRow } from '../sql/claim.ts'
import { FIND_SUSPECTS, type SuspectRow } from '../sql/find-suspects.ts'

/** How often to look for suspects, and how long to take one after another before others have their turn again. */
const LOOK_MS = 1_000
/** How long handlers at work keep a suspect waiting; what is queued goes back by itself after two seconds. */
const LONGEST_DRAIN_MS = 10_000
/** When the database does not say what became of a suspect. */
const UNHEARD_MS = 60_000

/**
 * Runs suspects, which are jobs that were running when a worker died, one at a time in an engine that holds nothing
 * else. Whatever killed that worker had company: hundreds of jobs may have been lost together, each of which would use
 * up its attempts if they were tried together again. Alone, an innocent comes through, and the one that kills takes
 * nobody along until it has reached its cap (`maxLost`).
 */
export class Isolation {
  readonly #parts: EngineParts
  readonly #workbench: Workbench
  readonly #versions: readonly number[]
  #lookedAt = -Infinity

  constructor(parts: EngineParts, workbench: Workbench) {
    this.#parts = parts
    this.#workbench = workbench
    this.#versions = parts.registry.types.map((type) => parts.registry.get(type).payloadVersion ?? 1)
  }

  /** Runs the suspects that are this engine's to run; others are claimed only when it resolves. */
  async visit(stop: AbortSignal): Promise<void> {
    if (performance.now() - this.#lookedAt < LOOK_MS) return
    if ((await this.#suspects()).length > 0) {
      this.#parts.signal?.({ kind: 'ISOLATING' })
      if (await this.#emptied(stop)) await this.#runOneAfterAnother(stop)
    }
    this.#lookedAt = performance.now()
  }

  async #runOneAfterAnother(stop: AbortSignal): Promise<void> {
    const began = performance.now()
    do {
      const job = await this.#claim()
      if (job === null) return
      this.#workbench.add([job], [])
      const over = () => !this.#workbench.holds(job.id, job.claimEpoch)
      await this.#workbench.until(over, job.timeoutMs + UNHEARD_MS, stop)
    } while (performance.now() - began < LOOK_MS && !stop.aborted)
  }

  /**
   * Waits until nothing is held; answers whether a suspect is still to be run. When handlers go on for long it runs
   * beside them: it waits for the end of an innocent job otherwise that may take hours.
   */
  async #emptied(stop: AbortSignal): Promise<boolean> {
    const began = performance.now()
    while (this.#workbench.held > 0 && performance.now() - began < LONGEST_DRAIN_MS) {
      await this.#workbench.until(() => this.#workbench.held === 0, LOOK_MS, stop)
      if (stop.aborted || (await this.#suspects()).length === 0) return false
    }
    return !stop.aborted
  }

  async #claim(): Promise<ClaimedRow | null> {
    for (const { type, tenantId, urgency } of await this.#suspects()) {
      const [job] = await claimGated(this.#parts, [{ type, tenantId, urgency, gated: true, mark: null }], 1, 1, true)
      if (job !== undefined) return job
    }
    return null
  }

  #suspects(): Promise<SuspectRow[]> {
    const { database, registry, workerId } = this.#parts
    return database.run(FIND_SUSPECTS, [registry.types, this.#versions, workerId, this.#workbench.held === 0])
  }
}
