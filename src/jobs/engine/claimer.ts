import { v4 as uuidv4 } from 'uuid'
import { CLAIM, CLAIM_GATED, type ClaimedRow } from '../sql/claim.ts'
import { FIND_LANES, type LaneRow } from '../sql/find-lanes.ts'
import { INSTALLATION } from '../tenant.ts'
import { Lanes, type Lane } from './lanes.ts'
import type { EngineParts } from './parts.ts'
import { LARGEST_BATCH } from './queue.ts'

/** Most lanes per type in one look. */
const MOST_LANES = 500

/** Even while jobs flow, look at all lanes again so often: for tenants and jobs that appeared behind the marks. */
const LOOK_AGAIN_MS = 1_000
/** The same when it was said that something new may be due: hints come fifty times per second from each process. */
const HINTED_AGAIN_MS = 50

/** Of jobs that are worked off together. */
const MOST_CLAIMS_OF_A_ROUND = 4

/** How many jobs an engine has room for. */
export interface Room {
  readonly jobs: number
  /** How many of them would begin at once: a job of a limited type counts as running from its claim on. */
  readonly atOnce: number
}

export interface Claimed {
  /** Those of gated types, to be begun before everything else. */
  readonly gated: readonly ClaimedRow[]
  readonly jobs: readonly ClaimedRow[]
  /** When nothing was found: milliseconds until the next job is due, if one is known. */
  readonly nextDueInMs: number | null
}

/**
 * Takes due jobs, a fair share from each tenant that has some. Lanes with due jobs are remembered for a second
 * and served in turn: each claim takes equal parts from as many lanes as it wants jobs, so one tenant's backlog
 * of any size delays another's single job by one round.
 */
export class Claimer {
  readonly #parts: EngineParts
  readonly #versions: readonly number[]
  #lanes = new Lanes()
  #lookedAt = -Infinity
  #lookAgainMs = LOOK_AGAIN_MS
  // Engines begin at different tenants, so that they do not all stand at the same lane.
  #after = uuidv4()
  #nextDueInMs: number | null = null

  constructor(parts: EngineParts) {
    this.#parts = parts
    this.#versions = parts.registry.types.map((type) => this.#versionOf(type))
  }

  /** Each job is an attempt begun, in a transaction that is committed. */
  async claim(room: Room): Promise<Claimed> {
    if (performance.now() - this.#lookedAt <= this.#lookAgainMs) {
      const taken = await this.#take(room)
      if (taken !== null) return taken
    }
    // Remembered lanes may have been emptied by others, and lanes that look due may be full or for a newer release:
    // only a round over all tenants can say that there is nothing.
    this.#nextDueInMs = null
    const first = this.#after
    for (let wrapped = false; ; ) {
      await this.#look()
      const taken = await this.#take(room)
      if (taken !== null) return taken
      const atTheEnd = this.#after === INSTALLATION
      if (wrapped ? atTheEnd || this.#after > first : atTheEnd && first === INSTALLATION) break
      wrapped ||= atTheEnd
    }
    return { gated: [], jobs: [], nextDueInMs: this.#nextDueInMs }
  }

  /** Something new may be due: look soon, whatever the remembered lanes still hold. Without any it looks anyway. */
  hint(): void {
    this.#lookAgainMs = HINTED_AGAIN_MS
  }

  /** From the remembered lanes, until something was found or none is left; null when nothing was. */
  async #take(room: Room): Promise<Claimed | null> {
    for (;;) {
      const gated = await this.#takeGated(room)
      const jobs = await this.#takePlain(room.jobs - gated.length)
      if (gated.length + jobs.length > 0) return { gated, jobs, nextDueInMs: null }
      if (this.#lanes.empty) return null
    }
  }

  async #takePlain(count: number): Promise<ClaimedRow[]> {
    const lanes = this.#lanes.nextPlain(count)
    if (lanes.length === 0) return []
    const share = this.#shareOf(lanes, Math.ceil(count / lanes.length))
    const jobs = await this.#parts.database.run(CLAIM, [
      lanes.map((lane) => lane.type),
      lanes.map((lane) => this.#versionOf(lane.type)),
      lanes.map((lane) => lane.tenantId),
      lanes.map((lane) => lane.urgency),
      lanes.map(markOf),
      share,
      count,
      this.#parts.workerId,
    ])
    this.#lanes.served(lanes, count, share, jobs)
    return jobs
  }

  /**
   * Jobs that are worked off together are taken by more from fewer tenants: a round over all of them may take four
   * claims instead of one, and batches are up to four times as large (36 to 86 of 20 tenants).
   */
  #shareOf(lanes: readonly Lane[], equal: number): number {
    const together = lanes.some(({ type }) => this.#parts.registry.get(type).runMany !== undefined)
    return together ? Math.max(equal, Math.min(LARGEST_BATCH, equal * MOST_CLAIMS_OF_A_ROUND)) : equal
  }

  /** Of one type at a time. Where others wait too, they keep half of what is free. */
  async #takeGated({ atOnce }: Room): Promise<ClaimedRow[]> {
    const lanes = this.#lanes.nextGated()
    if (lanes.length === 0) return []
    const most = this.#lanes.empty ? atOnce : Math.ceil(atOnce / 2)
    const share = Math.ceil(most / this.#lanes.fertile(lanes))
    const jobs = await claimGated(this.#parts, lanes, most, share, false)
    this.#lanes.served(lanes, most, share, jobs)
    return jobs
  }

  async #look(): Promise<void> {
    const { database, registry } = this.#parts
    const rows = await database.run(FIND_LANES, [registry.types, this.#versions, this.#after, MOST_LANES])
    this.#after = continueAfter(rows)
    this.#lanes.replace(rows)
    this.#lookedAt = performance.now()
    this.#lookAgainMs = LOOK_AGAIN_MS
    for (const { dueInMs } of rows)
      if (dueInMs > 0) this.#nextDueInMs = Math.min(dueInMs, this.#nextDueInMs ?? Infinity)
  }

  #versionOf(type: string): number {
    return this.#parts.registry.get(type).payloadVersion ?? 1
  }
}

/** Lanes of one type. `suspects`: a job that was running when a worker died, instead of those that were not. */
export function claimGated(
  parts: EngineParts,
  lanes: readonly Lane[],
  most: number,
  share: number,
  suspects: boolean,
): Promise<ClaimedRow[]> {
  const { type } = lanes[0]!
  return parts.database.run(CLAIM_GATED, [
    type,
    parts.registry.get(type).payloadVersion ?? 1,
    lanes.map((lane) => lane.tenantId),
    lanes.map((lane) => lane.urgency),
    lanes.map(markOf),
    most,
    share,
    parts.workerId,
    suspects,
  ])
}

const markOf = ({ mark }: Lane): string => (mark === null ? '-infinity' : new Date(mark).toISOString())

/** Where the next look begins: after the last tenant that every type's list reached; else at the first. */
function continueAfter(rows: readonly LaneRow[]): string {
  const counts = new Map<string, { lanes: number; last: string }>()
  for (const row of rows) {
    const of = counts.get(row.type)
    counts.set(row.type, { lanes: (of?.lanes ?? 0) + 1, last: row.tenantId })
  }
  const cut = [...counts.values()].filter((of) => of.lanes >= MOST_LANES).map((of) => of.last)
  return cut.length === 0 ? INSTALLATION : cut.sort()[0]!
}
