/** A change of clocks: from `at` on (milliseconds since 1970), local time is UTC plus `after` instead of `before`. */
export interface Transition {
  readonly at: number
  readonly before: number
  readonly after: number
}

const DAY = 86_400_000
const SECOND = 1_000
/** No two changes are nearer to one another in any zone since 1970 (test/jobs/schedules-zones.test.ts). */
const PROBE = 2 * DAY
/** No change skips or repeats more than a day (Pacific/Apia skipped one in 2011). */
const LONGEST_CHANGE = DAY

/**
 * The offsets of one time zone, as this Node's ICU knows them. The only thing that is asked of ICU is what the local
 * time is at an instant; everything else is found from there, so there is no ambiguous question that could be answered
 * one way here and another way elsewhere.
 */
export class Zone {
  readonly #format: Intl.DateTimeFormat
  readonly #transitions = new Map<number, readonly Transition[]>()

  /** @throws RangeError for a name that this Node does not know */
  constructor(name: string) {
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  }

  /** What is added to UTC to get local time, in milliseconds. */
  offsetAt(instant: number): number {
    const part: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {}
    for (const { type, value } of this.#format.formatToParts(instant)) part[type] = Number(value)
    const local = Date.UTC(part.year!, part.month! - 1, part.day!, part.hour!, part.minute!, part.second!)
    return local - Math.floor(instant / SECOND) * SECOND
  }

  /** The first change after one instant and not after the other. */
  firstTransition(after: number, until: number): Transition | null {
    for (let year = yearOf(after); year <= yearOf(until); year++)
      for (const transition of this.#ofYear(year))
        if (transition.at > after) return transition.at <= until ? transition : null
    return null
  }

  /** The change back that an instant follows so soon that its local time had come before; null: it comes first. */
  repeatedBy(instant: number): Transition | null {
    const last = this.firstTransition(instant - LONGEST_CHANGE, instant)
    return last !== null && instant < last.at + (last.before - last.after) ? last : null
  }

  /** The change back that will bring the local time of an instant once more. */
  repeatedLater(instant: number): Transition | null {
    const next = this.firstTransition(instant, instant + LONGEST_CHANGE)
    return next !== null && instant >= next.at - (next.before - next.after) ? next : null
  }

  #ofYear(year: number): readonly Transition[] {
    const known = this.#transitions.get(year)
    if (known !== undefined) return known
    const found: Transition[] = []
    const end = Date.UTC(year + 1, 0, 1)
    let from = Date.UTC(year, 0, 1)
    let before = this.offsetAt(from)
    while (from < end) {
      const to = Math.min(from + PROBE, end)
      const after = this.offsetAt(to)
      if (after !== before) found.push({ at: this.#changeBetween(from, to, before), before, after })
      before = after
      from = to
    }
    this.#transitions.set(year, found)
    return found
  }

  /** The first second, after `from` and at `to` at the latest, at which the offset is no longer `before`. */
  #changeBetween(from: number, to: number, before: number): number {
    let [low, high] = [from / SECOND, to / SECOND]
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (this.offsetAt(middle * SECOND) === before) low = middle
      else high = middle
    }
    return high * SECOND
  }
}

const yearOf = (instant: number): number => new Date(instant).getUTCFullYear()

/** Zones are few, being named by schedules, and their formatters dear. */
const zones = new Map<string, Zone>()

/** @throws RangeError for a name that this Node does not know */
export function zoneOf(name: string): Zone {
  let zone = zones.get(name)
  if (zone === undefined) {
    zone = new Zone(name)
    zones.set(name, zone)
  }
  return zone
}
