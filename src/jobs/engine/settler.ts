import { tellOutcomes } from '../outcome.ts'
import { STILL_HELD } from '../sql/claim-proof.ts'
import type { SettledRow } from '../sql/settle.ts'
import type { Attempt } from './attempt.ts'
import { type Ended, jobTransaction, settle, settleSucceeded } from './claim-transaction.ts'
import { type Ending, SUCCEEDED } from './ending.ts'
import type { EngineParts } from './parts.ts'
import { Pile } from './pile.ts'

/** Most endings in one statement: beyond, a batch no longer gets cheaper per job. */
const MOST = 500

/** How long to leave a job alone whose row somebody else has locked. */
const LOCKED_AGAIN_MS = 50

type Status = SettledRow['status']

/**
 * Writes the endings that handlers did not write themselves, many at a time. Several piles, so that the cheap and
 * common ending never waits for domain code: one for what succeeded with nobody to tell, one for everything else
 * without `onOutcome`, and one per type and tenant for endings whose domain is told in the same transaction.
 */
export class Settler {
  readonly #parts: EngineParts
  readonly #finished: (attempt: Attempt, status: Status | null) => void
  readonly #successes: Pile<Ended>
  readonly #others: Pile<Ended>
  readonly #told = new Map<string, Pile<Ended>>()
  #locked = 0
  #abandoned = false

  /** `finished` is called once per attempt; with null when the job was no longer this worker's. */
  constructor(parts: EngineParts, finished: (attempt: Attempt, status: Status | null) => void) {
    this.#parts = parts
    this.#finished = finished
    this.#successes = this.#pile((ended) => this.#settleSuccesses(ended))
    this.#others = this.#pile((ended) => this.#settleOthers(ended))
  }

  /** Endings that are not written yet. */
  get size(): number {
    return this.#piles().reduce((sum, pile) => sum + pile.size, this.#locked)
  }

  add(attempt: Attempt, ending: Ending): void {
    if (!this.#abandoned) this.#pileFor(attempt, ending).add({ attempt, ending })
  }

  /** Resolves when every ending is written. */
  async empty(): Promise<void> {
    while (this.size > 0) {
      await Promise.all(this.#piles().map((pile) => pile.empty()))
      if (this.#locked > 0) await new Promise((resolve) => setTimeout(resolve, LOCKED_AGAIN_MS))
    }
  }

  /** Gives up what is not written yet; the rescue of another worker ends those jobs. */
  abandon(): void {
    this.#abandoned = true
    for (const pile of this.#piles()) pile.abandon()
    this.#locked = 0
  }

  #piles(): Pile<Ended>[] {
    return [this.#successes, this.#others, ...this.#told.values()]
  }

  #pileFor(attempt: Attempt, ending: Ending): Pile<Ended> {
    // A job that was never begun changed nothing in its domain.
    const nobodyToTell = attempt.definition.onOutcome === undefined || attempt.beganAt === null
    if (nobodyToTell) return ending === SUCCEEDED ? this.#successes : this.#others
    const key = `${attempt.job.tenantId} ${attempt.job.type}`
    let pile = this.#told.get(key)
    if (pile === undefined) {
      for (const [other, { size }] of this.#told) if (size === 0) this.#told.delete(other)
      this.#told.set(key, (pile = this.#pile((ended) => this.#settleAndTell(ended))))
    }
    return pile
  }

  #pile(flush: (ended: Ended[]) => Promise<void>): Pile<Ended> {
    return new Pile<Ended>({
      most: MOST,
      flush,
      onTrouble: (error, ended, again) => {
        const types = [...new Set(ended.map(({ attempt }) => attempt.definition.type))]
        this.#parts.logger.error(
          { err: error, types, jobs: ended.length },
          `The endings of ${ended.length} jobs could not be written; trying again in ${again}.`,
        )
        this.#parts.signal?.({ kind: 'SETTLE_TROUBLE', jobs: ended.length })
      },
    })
  }

  async #settleSuccesses(ended: Ended[]): Promise<void> {
    const rows = await settleSucceeded(
      this.#parts.database,
      ended.map(({ attempt }) => attempt),
    )
    await this.#conclude(ended, new Map(rows.map(({ id }) => [id, 'SUCCEEDED'])))
  }

  async #settleOthers(ended: Ended[]): Promise<void> {
    const rows = await settle(this.#parts.database, ended)
    await this.#conclude(ended, new Map(rows.map(({ id, status }) => [id, status])))
  }

  /** All of one type and tenant. */
  async #settleAndTell(ended: Ended[]): Promise<void> {
    const { database, transactions } = this.#parts
    const { definition, job } = ended[0]!.attempt
    const rows = await transactions.with(() =>
      jobTransaction(database, job.tenantId, async (tx) => {
        const settled = await settle(tx, ended)
        await tellOutcomes(tx, definition, settled)
        return settled
      }),
    )
    await this.#conclude(ended, new Map(rows.map(({ id, status }) => [id, status])))
  }

  async #conclude(ended: readonly Ended[], settled: ReadonlyMap<string, Status>): Promise<void> {
    if (settled.size > 0) this.#parts.onCommitted()
    const missed: Ended[] = []
    for (const one of ended) {
      const status = settled.get(one.attempt.job.id)
      if (status === undefined) missed.push(one)
      else this.#finished(one.attempt, status)
    }
    if (missed.length > 0) await this.#lookAfter(missed)
  }

  /** What was not settled is either no longer ours, or locked at the moment by somebody who also wants to end it. */
  async #lookAfter(missed: readonly Ended[]): Promise<void> {
    const rows = await this.#parts.database.run(STILL_HELD, [missed.map(({ attempt }) => attempt.job.id)])
    const held = new Map(rows.map((row) => [row.id, row.claimEpoch]))
    for (const { attempt, ending } of missed) {
      if (held.get(attempt.job.id) !== attempt.job.claimEpoch) {
        this.#finished(attempt, attempt.settledAs)
        continue
      }
      this.#locked++
      setTimeout(() => {
        if (this.#locked === 0) return
        this.#locked--
        this.add(attempt, ending)
      }, LOCKED_AGAIN_MS)
    }
  }
}
