import type { Attempt } from './attempt.ts'

/** Most jobs of one `runMany`. */
export const LARGEST_BATCH = 100

/** What an engine has claimed ahead and not begun yet, in the order of the claims. */
export class Queue {
  #attempts: Attempt[] = []

  get length(): number {
    return this.#attempts.length
  }

  /** Those of gated types begin before what was claimed ahead: they count as running already. */
  add(gated: readonly Attempt[], others: readonly Attempt[]): void {
    this.#attempts = [...gated, ...this.#attempts, ...others]
  }

  /** What begins next: one attempt, or a batch if there may be one now; null when there is neither. */
  next(mayBatch: boolean): readonly Attempt[] | null {
    const place = this.#attempts.findIndex(({ definition }) => mayBatch || definition.runMany === undefined)
    if (place === -1) return null
    const first = this.#attempts.splice(place, 1)[0]!
    return first.definition.runMany === undefined ? [first] : this.#batchOf(first)
  }

  /** Empties it; answers with what was in it. */
  drain(): Attempt[] {
    return this.#attempts.splice(0)
  }

  /** Whether something in it was claimed before `claimedAt`. */
  holdsOlderThan(claimedAt: number): boolean {
    return this.#attempts.some((attempt) => attempt.claimedAt < claimedAt)
  }

  /**
   * The attempt and what waits of the same type and tenant, up to a batch. What is tried again runs alone: a job
   * that hangs its batch, or kills the process, would otherwise use up the attempts of the same others each time.
   */
  #batchOf(first: Attempt): Attempt[] {
    const batch = [first]
    if (first.job.attempt > 1) return batch
    this.#attempts = this.#attempts.filter((other) => {
      const goesAlong =
        batch.length < LARGEST_BATCH &&
        other.job.attempt === 1 &&
        other.job.type === first.job.type &&
        other.job.tenantId === first.job.tenantId
      if (goesAlong) batch.push(other)
      return !goesAlong
    })
    return batch
  }
}
