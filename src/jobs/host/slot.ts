import { randomUUID } from 'node:crypto'

export type SlotState = 'STARTING' | 'RUNNING' | 'RESTARTING' | 'PARKED' | 'STOPPED'

const FIRST_WAIT_MS = 250
const LONGEST_WAIT_MS = 30_000
const HEALTHY_AFTER_MS = 60_000
/** So many ends within a minute are a crash loop: something is wrong that restarting does not cure. */
const CRASHES_PER_MINUTE = 5
const PARKED_MS = 5 * 60_000

/** One place for a worker thread and what is known of the thread that is in it now. */
export class Slot {
  readonly number: number
  /** The name under which Bree knows it; the key of everything in there, so unique (pitfall 13). */
  readonly name: string
  state: SlotState = 'STARTING'
  workerId: string = randomUUID()
  restarts = 0
  /** The thread's error has been logged: Bree reports each crash twice (pitfall 4). */
  reported = false
  #startedAt = performance.now()
  #beat = 0
  #beatAt = performance.now()
  #crashes: number[] = []
  #inARow = 0

  constructor(number: number) {
    this.number = number
    this.name = `engine-${number}`
  }

  /** A new thread takes the place: new worker id, whatever the old one still does is not its doing. */
  begin(): string {
    this.workerId = randomUUID()
    this.state = 'STARTING'
    this.reported = false
    this.#startedAt = this.#beatAt = performance.now()
    return this.workerId
  }

  /** Takes note of the beat and says for how long it has not changed, in milliseconds. */
  stalledFor(beat: number): number {
    if (beat !== this.#beat) {
      this.#beat = beat
      this.#beatAt = performance.now()
    }
    return performance.now() - this.#beatAt
  }

  /** The thread is gone. How long to wait before the next one, and whether the place is parked. */
  afterEnd(): { waitMs: number; parked: boolean } {
    const now = performance.now()
    this.restarts++
    this.#inARow = now - this.#startedAt >= HEALTHY_AFTER_MS ? 1 : this.#inARow + 1
    this.#crashes = [...this.#crashes.filter((at) => now - at < 60_000), now]
    const parked = this.#crashes.length >= CRASHES_PER_MINUTE
    if (parked) this.#crashes = []
    this.state = parked ? 'PARKED' : 'RESTARTING'
    return { waitMs: parked ? PARKED_MS : Math.min(FIRST_WAIT_MS * 2 ** (this.#inARow - 1), LONGEST_WAIT_MS), parked }
  }
}
