import type { ClaimedRow } from '../sql/claim.ts'
import type { LaneRow } from '../sql/find-lanes.ts'

export interface Lane {
  readonly type: string
  readonly tenantId: string
  readonly urgency: number
  readonly gated: boolean
  /** Nothing that is due earlier is left in it, as far as we saw. Milliseconds since 1970; null at first. */
  readonly mark: number | null
}

/** All plain lanes are one line; those of a gated type are one each. */
const PLAIN = ''

/**
 * The lanes of the last look in which something is due, in lines that are served in turn: one of all plain lanes, one
 * per gated type. A lane that looks due and gives nothing (others were faster, its tenant is at a limit, what is due is
 * for a newer release) is barren: as long as it is, it stands behind the others and does not count as its tenant's best
 * (pain 41).
 */
export class Lanes {
  #lines = new Map<string, Lane[]>()
  #barren = new Set<string>()
  /** The tenant that was served last in each line: the next look goes on behind it, not at the first tenant again. */
  readonly #lastTenants = new Map<string, string>()

  get empty(): boolean {
    return this.#lines.size === 0
  }

  replace(rows: readonly LaneRow[]): void {
    const due = rows.filter(({ dueInMs }) => dueInMs <= 0)
    const keys = new Set(due.map(keyOf))
    this.#barren = new Set([...this.#barren].filter((key) => keys.has(key)))
    this.#lines = new Map()
    for (const [line, inLine] of grouped(due, lineOf)) {
      const candidates = line === PLAIN ? this.#bestOfTenants(inLine) : inLine
      this.#lines.set(line, this.#inTurn(candidates.map(unmarked), this.#lastTenants.get(line) ?? ''))
    }
  }

  /** At most so many; they leave the line until they are `served`. */
  nextPlain(count: number): Lane[] {
    const line = this.#lines.get(PLAIN)
    if (line === undefined || count <= 0) return []
    const next = line.splice(0, count)
    if (line.length === 0) this.#lines.delete(PLAIN)
    return next
  }

  /** All of the gated type whose turn it is; they leave the line until they are `served`. */
  nextGated(): Lane[] {
    for (const [type, line] of this.#lines) {
      if (type === PLAIN) continue
      this.#lines.delete(type)
      return line
    }
    return []
  }

  /** How many of these may be expected to give something; one at the least. */
  fertile(lanes: readonly Lane[]): number {
    return Math.max(1, lanes.filter((lane) => !this.#isBarren(lane)).length)
  }

  /**
   * What a claim of at most `most` jobs, `share` from each of the lanes, brought. A lane that gave its whole share has
   * probably more; one that was not reached, or cut short because there were enough, is the first the next time; one
   * that gave less by itself is done until the next look.
   */
  served(lanes: readonly Lane[], most: number, share: number, jobs: readonly ClaimedRow[]): void {
    const given = grouped(jobs, keyOf)
    const more: Lane[] = []
    const first: Lane[] = []
    const line = lineOf(lanes[0]!)
    for (const lane of lanes) {
      const of = given.get(keyOf(lane))
      if (of !== undefined) {
        this.#barren.delete(keyOf(lane))
        this.#lastTenants.set(line, lane.tenantId)
        const served = { ...lane, mark: Math.max(...of.map((job) => job.due)) }
        if (of.length >= share) more.push(served)
        else if (jobs.length >= most) first.push(served)
      } else if (jobs.length >= most) first.push(lane)
      else this.#barren.add(keyOf(lane))
    }
    const next = [...first, ...(this.#lines.get(line) ?? []), ...more]
    if (next.length > 0) this.#lines.set(line, next)
  }

  /** Barren lanes last, and each part from the tenant on that follows the last one served. */
  #inTurn(lanes: readonly Lane[], last: string): Lane[] {
    const behind = (lane: Lane) => (this.#isBarren(lane) ? 2 : 0) + (lane.tenantId > last ? 0 : 1)
    return lanes.toSorted((a, b) => behind(a) - behind(b))
  }

  /**
   * One fertile lane per tenant, so that no tenant's share grows with the number of its types: its most urgent, and of
   * equally urgent ones that whose first job waits longest. Barren ones that would have been better go along.
   */
  #bestOfTenants(due: readonly LaneRow[]): LaneRow[] {
    return [...grouped(due, ({ tenantId }) => tenantId).values()].flatMap((rows) => {
      const best = rows.toSorted((a, b) => a.urgency - b.urgency || a.dueInMs - b.dueInMs)
      const fertile = best.findIndex((row) => !this.#isBarren(row))
      return fertile === -1 ? best : best.slice(0, fertile + 1)
    })
  }

  #isBarren(lane: LaneKey): boolean {
    return this.#barren.has(keyOf(lane))
  }
}

type LaneKey = Pick<Lane, 'type' | 'tenantId' | 'urgency'>

const keyOf = ({ type, tenantId, urgency }: LaneKey): string => `${type} ${tenantId} ${urgency}`

const lineOf = ({ type, gated }: Pick<Lane, 'type' | 'gated'>): string => (gated ? type : PLAIN)

const unmarked = ({ type, tenantId, urgency, gated }: LaneRow): Lane => ({ type, tenantId, urgency, gated, mark: null })

function grouped<Item>(items: readonly Item[], keyOfItem: (item: Item) => string): Map<string, Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const key = keyOfItem(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}
