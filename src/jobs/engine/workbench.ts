import { Breakers } from '../gates/breakers.ts'
import type { ClaimedRow } from '../sql/claim.ts'
import { STILL_HELD } from '../sql/claim-proof.ts'
import { Attempt } from './attempt.ts'
import type { Room } from './claimer.ts'
import { type Ending, INTERRUPTED, NOT_BEGUN, timedOut } from './ending.ts'
import type { EngineParts } from './parts.ts'
import { Queue } from './queue.ts'
import { runOne, runTogether, type Verdicts } from './runner.ts'
import { Settler } from './settler.ts'

/** How often the clock is looked at for time-outs, and the database for cancels and lost claims. */
const TICK_MS = 50
const LOOK_MS = 250
/** How far ahead to claim, in the handlers' own time and in jobs. */
const AHEAD_MS = 100
// Two claims' worth: one is at work while the next is fetched.
const MOST_AHEAD = 1_000
/** What handlers are taken to need before any has run, and at the least. */
const FIRST_GUESS_MS = 100
const LEAST_MS = 0.1
/** What was claimed and not begun for so long goes back, for others to take. */
const LONGEST_QUEUED_MS = 2_000
/** A handler that ignores its abort signal for so long no longer counts against the concurrency. */
const LONGEST_DEAF_MS = 30_000

interface Slot {
  /** How many jobs share it, and the time of its handler. */
  readonly jobs: number
  readonly inBatch: boolean
}

const NO_ROOM: Room = { jobs: 0, atOnce: 0 }

/**
 * The jobs in one engine's hands: a short queue of what was claimed ahead, the handlers at work, and the endings
 * on their way to the database.
 */
export class Workbench implements Verdicts {
  readonly #parts: EngineParts
  readonly #concurrency: number
  readonly #onRoom: () => void
  readonly #settler: Settler
  readonly #breakers: Breakers
  readonly #held = new Map<string, Attempt>()
  /** Attempts whose handler has not returned, each with the slot it occupies; a batch shares one. */
  readonly #running = new Map<Attempt, Slot>()
  readonly #queue = new Queue()
  #slots = 0
  #batches = 0
  #closing = false
  #tick: NodeJS.Timeout | null = null
  #lookedAt = 0
  #looking = false
  /** How long handlers take per job lately, in milliseconds. */
  #usualMs = FIRST_GUESS_MS
  #quiet: (() => void)[] = []
  /** Asked again each time that an attempt has ended. */
  readonly #watchers = new Set<() => void>()

  constructor(parts: EngineParts, concurrency: number, onRoom: () => void) {
    this.#parts = parts
    this.#concurrency = concurrency
    this.#onRoom = onRoom
    this.#breakers = new Breakers(parts)
    this.#settler = new Settler(parts, (attempt, status) => this.#finished(attempt, status))
  }

  get held(): number {
    return this.#held.size
  }

  holds(id: string, claimEpoch: number): boolean {
    return this.#held.get(id)?.job.claimEpoch === claimEpoch
  }

  /**
   * How many more jobs to claim now. Ahead of the free slots only as many as the handlers would get through in
   * `AHEAD_MS`: no-op jobs then come by hundreds, and slow ones stay in the database for whoever is free first.
   * By the handlers' time and not by the jobs that end per second: that is low when batches are small, and
   * batches would stay small.
   */
  room(): Room {
    if (this.#closing) return NO_ROOM
    const ahead = Math.min(MOST_AHEAD, Math.round((this.#concurrency * AHEAD_MS) / this.#usualMs))
    const target = this.#concurrency - this.#slots + ahead
    const room = target - this.#queue.length
    // Half empty before it asks again, so that claims are few and large.
    if (room * 2 < target) return NO_ROOM
    // One at the least, which then waits for the next free slot: where others fill the queue, none would be free ever.
    return { jobs: room, atOnce: Math.max(1, this.#concurrency - this.#slots - this.#queue.length) }
  }

  add(gated: readonly ClaimedRow[], jobs: readonly ClaimedRow[]): void {
    this.#queue.add(this.#attempts(gated, true), this.#attempts(jobs, false))
    this.#tick ??= setInterval(() => this.#onTick(), TICK_MS)
    if (this.#closing) this.#giveBackQueue()
    else this.#begin()
  }

  /** Resolves when `holds` is so, at the latest after so long or at the abort. */
  async until(holds: () => boolean, withinMs: number, stop: AbortSignal): Promise<void> {
    if (holds() || stop.aborted || withinMs <= 0) return
    await new Promise<void>((resolve) => {
      const over = () => {
        clearTimeout(timer)
        stop.removeEventListener('abort', over)
        this.#watchers.delete(look)
        resolve()
      }
      const look = () => {
        if (holds()) over()
      }
      const timer = setTimeout(over, withinMs)
      stop.addEventListener('abort', over)
      this.#watchers.add(look)
    })
  }

  async admit(attempt: Attempt, payload: unknown): Promise<boolean> {
    const refusal = await this.#breakers.refusal(attempt, payload)
    if (refusal === null || attempt.ended) return !attempt.ended
    attempt.beganAt = null
    this.decide(attempt, refusal)
    return false
  }

  decide(attempt: Attempt, ending: Ending): void {
    if (attempt.ended) return
    attempt.ended = true
    this.#breakers.observe(attempt, ending)
    this.#settler.add(attempt, ending)
  }

  settledByHandler(attempt: Attempt): void {
    attempt.ended = true
    if (attempt.settledBy !== null) this.#breakers.observe(attempt, attempt.settledBy)
    this.#finished(attempt, attempt.settledAs)
  }

  superseded(attempt: Attempt): void {
    if (attempt.ended) return
    attempt.ended = true
    this.#finished(attempt, null)
  }

  /** See `Engine.stop`. */
  async close(deadlineMs: number): Promise<void> {
    this.#closing = true
    const started = performance.now()
    this.#giveBackQueue()
    await this.#handlersReturn(deadlineMs / 2)
    for (const attempt of this.#running.keys()) attempt.abort('STOP')
    await this.#handlersReturn(deadlineMs - (performance.now() - started) - Math.min(1_000, deadlineMs / 4))
    // Whatever these handlers still do is fenced off from here on.
    for (const attempt of this.#running.keys()) this.decide(attempt, INTERRUPTED)
    await this.#settler.empty()
    await this.#breakers.written()
    this.abandon()
  }

  /** Ends all timers; what is not written by now is left to the rescue. */
  abandon(): void {
    if (this.#tick !== null) clearInterval(this.#tick)
    this.#tick = null
    this.#settler.abandon()
  }

  #begin(): void {
    while (this.#slots < this.#concurrency) {
      // A batch that would wait for its transaction is put together later, when more of its kind have come.
      const attempts = this.#queue.next(this.#batches < this.#parts.transactions.count)
      if (attempts === null) break
      for (const attempt of attempts) {
        attempt.beganAt = performance.now()
        this.#parts.signal?.({ kind: 'BEGAN', jobId: attempt.job.id, attempt: attempt.job.attempt })
      }
      const together = attempts[0]!.definition.runMany !== undefined
      const run = together ? runTogether(attempts, this.#parts, this) : runOne(attempts[0]!, this.#parts, this)
      this.#occupy(attempts, together, run)
    }
  }

  #occupy(attempts: readonly Attempt[], inBatch: boolean, handler: Promise<void>): void {
    const slot: Slot = { jobs: attempts.length, inBatch }
    this.#slots++
    if (slot.inBatch) this.#batches++
    for (const attempt of attempts) this.#running.set(attempt, slot)
    void handler.then(() => {
      for (const attempt of attempts) this.#leave(attempt)
    })
  }

  /** Frees the slot when the last attempt in it has left. */
  #leave(attempt: Attempt): void {
    const slot = this.#running.get(attempt)
    if (slot === undefined) return
    this.#running.delete(attempt)
    if (attempt.beganAt !== null) {
      const tookMs = (performance.now() - attempt.beganAt) / slot.jobs
      this.#usualMs = Math.max(LEAST_MS, this.#usualMs + (tookMs - this.#usualMs) / 8)
    }
    for (const other of this.#running.values()) if (other === slot) return
    this.#slots--
    if (slot.inBatch) this.#batches--
    if (!this.#closing) this.#begin()
    if (this.#running.size === 0) for (const resolve of this.#quiet.splice(0)) resolve()
    this.#onRoom()
  }

  #finished(attempt: Attempt, status: string | null): void {
    const { id, attempt: number } = attempt.job
    if (this.#held.get(id) === attempt) this.#held.delete(id)
    if (this.#parts.signal !== null)
      this.#parts.signal(
        status === null
          ? { kind: 'SUPERSEDED', jobId: id, attempt: number }
          : { kind: 'ENDED', jobId: id, attempt: number, status },
      )
    for (const look of this.#watchers) look()
    if (this.#held.size === 0 && this.#tick !== null) {
      clearInterval(this.#tick)
      this.#tick = null
    }
  }

  #attempts(jobs: readonly ClaimedRow[], gated: boolean): Attempt[] {
    return jobs.map((job) => {
      const attempt = new Attempt(job, this.#parts.registry.get(job.type), gated)
      this.#held.set(job.id, attempt)
      return attempt
    })
  }

  #giveBackQueue(): void {
    for (const attempt of this.#queue.drain()) this.decide(attempt, NOT_BEGUN)
  }

  async #handlersReturn(withinMs: number): Promise<void> {
    if (this.#running.size === 0 || withinMs <= 0) return
    let timer: NodeJS.Timeout | undefined
    await Promise.race([
      new Promise<void>((resolve) => this.#quiet.push(resolve)),
      new Promise<void>((resolve) => (timer = setTimeout(resolve, withinMs))),
    ])
    clearTimeout(timer)
  }

  #onTick(): void {
    const now = performance.now()
    for (const attempt of [...this.#running.keys()]) {
      const over = attempt.ranMs() - attempt.job.timeoutMs
      if (over >= 0) {
        attempt.abort('TIMEOUT')
        this.decide(attempt, timedOut(attempt.job.timeoutMs))
      }
      if (over >= LONGEST_DEAF_MS) this.#giveUpOn(attempt)
    }
    if (this.#queue.holdsOlderThan(now - LONGEST_QUEUED_MS)) this.#giveBackQueue()
    if (now - this.#lookedAt >= LOOK_MS && !this.#looking) void this.#look(now)
  }

  #giveUpOn(attempt: Attempt): void {
    const { id: jobId, type, correlationId } = attempt.job
    this.#parts.logger.error(
      { jobId, type, correlationId },
      'A handler still runs long after its time-out; its slot is given to others. It should listen to context.signal.',
    )
    this.#leave(attempt)
  }

  /** Asks the database about jobs that have been running for a while: cancelled meanwhile, or somebody else's? */
  async #look(now: number): Promise<void> {
    this.#lookedAt = now
    const asked = [...this.#running.keys()].filter(
      (attempt) => !attempt.ended && !attempt.inTransaction && attempt.ranMs() >= LOOK_MS,
    )
    if (asked.length === 0) return
    this.#looking = true
    try {
      const rows = await this.#parts.database.run(STILL_HELD, [asked.map(({ job }) => job.id)])
      const held = new Map(rows.map((row) => [row.id, row]))
      for (const attempt of asked) {
        if (attempt.ended || attempt.inTransaction || attempt.settledAs !== null) continue
        const row = held.get(attempt.job.id)
        if (row?.claimEpoch !== attempt.job.claimEpoch) {
          attempt.abort('SUPERSEDED')
          this.superseded(attempt)
        } else if (row.cancelRequested) attempt.abort('CANCEL')
      }
    } catch (error) {
      this.#parts.logger.warn({ err: error }, 'Running jobs could not be looked after; the next look is soon.')
    } finally {
      this.#looking = false
    }
  }
}
