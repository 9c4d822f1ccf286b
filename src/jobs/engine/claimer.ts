import { v4 as uuidv4 } from 'uuid'
import { CLAIM, type ClaimedRow } from '../sql/claim.ts'
import { FIND_LANES, type LaneRow } from '../sql/find-lanes.ts'
import { INSTALLATION } from '../tenant.ts'
import type { EngineParts } from './parts.ts'

/** Most lanes per type in one look. */
const MOST_LANES = 500

/** Even while jobs flow, look at all lanes again so often: for tenants and jobs that appeared behind the marks. */
const LOOK_AGAIN_MS = 1_000

interface Lane {
  readonly type: string
  readonly tenantId: string
  readonly urgency: number
  /** Nothing that is due earlier is left in it, as far as we saw. Milliseconds since 1970; null at first. */
  mark: number | null
}

export interface Claimed {
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
  #lanes: Lane[] = []
  #lookedAt = -Infinity
  // Engines begin at different tenants, so that they do not all stand at the same lane.
  #after = uuidv4()
  #nextDueInMs: number | null = null

  constructor(parts: EngineParts) {
    this.#parts = parts
  }

  /** At most `count` jobs; each of them is an attempt begun, in a transaction that is committed. */
  async claim(count: number): Promise<Claimed> {
    for (;;) {
      const fresh = this.#lanes.length === 0 || performance.now() - this.#lookedAt > LOOK_AGAIN_MS
      if (fresh) await this.#look()
      if (this.#lanes.length === 0) return { jobs: [], nextDueInMs: this.#nextDueInMs }
      const jobs = await this.#take(count)
      // Remembered lanes may have been emptied by others; only a fresh look can say that there is nothing.
      if (jobs.length > 0 || fresh) return { jobs, nextDueInMs: null }
    }
  }

  /** Forgets what is known about lanes: something new may be due. */
  forget(): void {
    this.#lanes = []
  }

  async #take(count: number): Promise<ClaimedRow[]> {
    const lanes = this.#lanes.splice(0, count)
    const share = Math.ceil(count / lanes.length)
    const jobs = await this.#parts.database.run(CLAIM, [
      lanes.map((lane) => lane.type),
      lanes.map((lane) => lane.tenantId),
      lanes.map((lane) => lane.urgency),
      lanes.map((lane) => (lane.mark === null ? '-infinity' : new Date(lane.mark).toISOString())),
      share,
      count,
      this.#parts.workerId,
    ])
    const taken = new Map<string, { jobs: number; lastDue: number }>()
    for (const job of jobs) {
      const of = taken.get(job.tenantId) ?? { jobs: 0, lastDue: 0 }
      taken.set(job.tenantId, { jobs: of.jobs + 1, lastDue: Math.max(of.lastDue, job.due) })
    }
    // A lane that gave its whole share has probably more; one that gave less is done until the next look.
    for (const lane of lanes) {
      const of = taken.get(lane.tenantId)
      if (of === undefined || of.jobs < share) continue
      this.#lanes.push({ ...lane, mark: of.lastDue })
    }
    return jobs
  }

  async #look(): Promise<void> {
    const started = this.#after
    let wrapped = started === INSTALLATION
    this.#nextDueInMs = null
    // On until something is due or every tenant was seen; a look that reached the last tenant goes on at the first.
    for (;;) {
      await this.#lookFrom(this.#after)
      if (this.#lanes.length > 0 || (wrapped && (this.#after === INSTALLATION || this.#after > started))) break
      if (this.#after === INSTALLATION) wrapped = true
    }
    this.#lookedAt = performance.now()
  }

  async #lookFrom(first: string): Promise<void> {
    const rows = await this.#parts.database.run(FIND_LANES, [this.#parts.registry.types, first, MOST_LANES])
    this.#after = continueAfter(rows)
    this.#lanes = dueLanes(rows)
    for (const { dueInMs } of rows)
      if (dueInMs > 0) this.#nextDueInMs = Math.min(dueInMs, this.#nextDueInMs ?? Infinity)
  }
}

/** One lane per tenant: its most urgent, and of equally urgent ones that whose first job waits longest. */
function dueLanes(rows: readonly LaneRow[]): Lane[] {
  const best = new Map<string, LaneRow>()
  for (const row of rows) {
    if (row.dueInMs > 0) continue
    const other = best.get(row.tenantId)
    const better =
      other === undefined ||
      row.urgency < other.urgency ||
      (row.urgency === other.urgency && row.dueInMs < other.dueInMs)
    if (better) best.set(row.tenantId, row)
  }
  return [...best.values()].map(({ type, tenantId, urgency }) => ({ type, tenantId, urgency, mark: null }))
}

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
