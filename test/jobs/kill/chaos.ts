import { randomOf } from './random.ts'
import type { Victim } from './victim.ts'
import type { Fate, Point } from './wire.ts'

/** A fate, or: HOLD, until some other statements have passed; SUSPEND, the same for long and with the lease over. */
export type Turn = Fate | 'HOLD' | 'SUSPEND'

const OFTEN: readonly (readonly [Turn, number])[] = [
  ['KILL_BEFORE', 0.012],
  ['KILL_AFTER', 0.012],
  ['CUT_BEFORE', 0.02],
  ['CUT_AFTER', 0.03],
  ['SUSPEND', 0.02],
  ['HOLD', 0.15],
]
/** Beyond this, what an engine asks again and again is left alone. */
const FIRST_FEW = 6

interface Held {
  left: number
  readonly go: () => void
}

/**
 * Decides over every statement of several processes. What happens at a point depends on the seed and the point alone,
 * not on when it is reached; delays are counted in the statements of others, not in time. So a seed tells the same story
 * again.
 */
export class Chaos {
  /** What was done, in order. */
  readonly story: string[] = []
  readonly #seed: number
  readonly #only: ReadonlySet<string> | null
  readonly #held: Held[] = []
  readonly #idle: NodeJS.Timeout
  #passed = 0
  #over = false

  /** `only`: the faults of an earlier story that are to happen again; null for all that the seed has. */
  constructor(seed: number, only: ReadonlySet<string> | null = null) {
    this.#seed = seed
    this.#only = only
    let before = -1
    // Whoever is held waits for others; when all wait, for each other or in the database, the first one goes.
    this.#idle = setInterval(() => {
      if (this.#passed === before) this.#held.shift()?.go()
      before = this.#passed
    }, 10)
  }

  async decide(actor: string, point: Point, victim: Victim | null): Promise<Fate> {
    const { turn, length } = this.#turn(actor, point)
    if (turn !== 'PASS') this.story.push(`${turn} ${actor} ${point.name} #${point.nth}`)
    if (turn === 'HOLD') await this.#hold(length)
    else if (turn === 'SUSPEND') {
      await victim?.lapse()
      await this.#hold(10 * length)
      if (length % 2 === 0) await victim?.live()
    }
    this.#pass()
    return turn === 'HOLD' || turn === 'SUSPEND' ? 'PASS' : turn
  }

  /** Resolves when so many statements of anybody have passed; for those who act in between. */
  async after(statements: number): Promise<void> {
    if (!this.#over) await this.#hold(statements)
  }

  /** From now on everything passes. */
  end(): void {
    this.#over = true
    clearInterval(this.#idle)
    for (const { go } of this.#held.splice(0)) go()
  }

  #turn(actor: string, { name, nth }: Point): { turn: Turn; length: number } {
    const random = randomOf(hashOf(`${this.#seed} ${actor} ${name} ${nth}`))
    let draw = random.whole(1_000_000) / 1_000_000
    const length = 1 + random.whole(8)
    if (this.#over || nth > FIRST_FEW) return { turn: 'PASS', length }
    for (const [turn, probability] of OFTEN) {
      draw -= probability
      if (draw >= 0) continue
      const known = this.#only?.has(`${turn} ${actor} ${name} #${nth}`) ?? true
      return { turn: known ? turn : 'PASS', length }
    }
    return { turn: 'PASS', length }
  }

  #hold(left: number): Promise<void> {
    return new Promise((go) => this.#held.push({ left, go }))
  }

  #pass(): void {
    this.#passed++
    for (const held of [...this.#held]) {
      if (--held.left > 0) continue
      this.#held.splice(this.#held.indexOf(held), 1)
      held.go()
    }
  }
}

/** FNV-1a. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let place = 0; place < text.length; place++) hash = Math.imul(hash ^ text.charCodeAt(place), 0x01000193)
  return hash >>> 0
}
