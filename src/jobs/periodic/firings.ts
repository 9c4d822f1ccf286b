import { cronExpression } from './cron.ts'
import type { ScheduleTiming } from './schedule.ts'
import { type Transition, zoneOf } from './zone.ts'

/** One time at which a schedule fires. */
export interface Firing {
  readonly at: Date
  /** The same in the schedule's zone, with its offset: `2026-03-29T03:00:00+02:00`. */
  readonly local: string
  /**
   * What a change of clocks has to do with it. AFTER_GAP: its own time was skipped and it comes right after. GAP_SKIPPED:
   * the one before it was left out, its time having been skipped. FIRST_OF_TWO, SECOND_OF_TWO: its time comes twice.
   */
  readonly dst: 'AFTER_GAP' | 'GAP_SKIPPED' | 'FIRST_OF_TWO' | 'SECOND_OF_TWO' | null
  /** The same for people. */
  readonly note: string | null
}

/** Further ahead nothing is looked for: 29 February on a given weekday comes within 40 years. */
const HORIZON_MS = 50 * 366 * 86_400_000

/** The next firings after a moment, strictly increasing; fewer than `count` when the schedule has no more. Pure. */
export function nextFirings(timing: ScheduleTiming, after: Date, count = 20): Firing[] {
  const found: Firing[] = []
  if (count <= 0) return found
  for (const firing of firingsAfter(timing, after.getTime())) {
    found.push(firing)
    if (found.length === count) break
  }
  return found
}

/** As `nextFirings`, without an end. @throws Error for a cron expression or a zone that cannot be read */
export function firingsAfter(timing: ScheduleTiming, after: number): Generator<Firing> {
  return timing.everyMs === null ? cronFirings(timing, after) : intervalFirings(timing.everyMs, after)
}

function* intervalFirings(everyMs: number, after: number): Generator<Firing> {
  for (let slot = (Math.floor(after / everyMs) + 1) * everyMs; ; slot += everyMs)
    yield { at: new Date(slot), local: localText(slot, 0), dst: null, note: null }
}

/**
 * Goes through time in stretches of one offset each, in which local time is UTC plus a constant: there a local time is
 * one instant, and instants increase as local times do. Only where one stretch meets the next is there something to
 * decide. So no change of clocks, however odd, can make two firings of one or send the search backwards.
 */
function* cronFirings(timing: ScheduleTiming, after: number): Generator<Firing> {
  const zone = zoneOf(timing.timeZone)
  const cron = cronExpression(timing.cron!)
  const once = timing.dstOverlap === 'ONCE' && !cron.everyHour
  const minds = (change: Transition, next: number) =>
    !cron.everyHour && next < change.at + Math.max(change.before, change.after) && change.after > change.before
  // Beyond this instant and this local time.
  let at = after
  let offset = zone.offsetAt(at)
  let local = at + offset
  let leftOut: string | null = null
  let last = after
  const began = zone.repeatedBy(at)
  if (once && began !== null) local = Math.max(local, began.at + began.before - 1)

  for (;;) {
    const next = cron.next(local)
    if (next === null || next - offset > last + HORIZON_MS) return
    const instant = next - offset
    const change = zone.firstTransition(at, instant)
    if (change === null) {
      yield firingAt(instant, next)
      leftOut = null
      last = at = instant
      local = next
      continue
    }
    at = change.at
    offset = change.after
    local = change.at + change.after - 1
    if (change.after < change.before) {
      // All of the second pass, up to the first local time that has not come yet.
      if (once) local = change.at + change.before - 1
    } else if (minds(change, next)) {
      const { dstGap, timeZone } = timing
      const why = `${localText(next, null)} does not exist in ${timeZone}`
      if (dstGap === 'SKIP') leftOut ??= `${why}; it was left out.`
      else {
        yield { ...plain(change.at, offset), dst: 'AFTER_GAP', note: `${why}; it runs right after, once.` }
        // Whatever else was skipped is this one firing too, and so is one that is due at this very moment.
        local++
      }
    }
  }

  function firingAt(instant: number, wall: number): Firing {
    const { dstOverlap, timeZone } = timing
    const firing = plain(instant, offset)
    const twice = `${localText(wall, null)} comes twice in ${timeZone}`
    if (leftOut !== null) return { ...firing, dst: 'GAP_SKIPPED', note: leftOut }
    if (zone.repeatedBy(instant) !== null)
      return { ...firing, dst: 'SECOND_OF_TWO', note: `${twice}; the second time.` }
    if (zone.repeatedLater(instant) === null) return firing
    const rule = once
      ? 'it runs the first time only'
      : dstOverlap === 'TWICE'
        ? 'it runs both times'
        : 'it runs every hour'
    return { ...firing, dst: 'FIRST_OF_TWO', note: `${twice}; ${rule}.` }
  }
}

const plain = (instant: number, offset: number): Firing => ({
  at: new Date(instant),
  local: localText(instant + offset, offset),
  dst: null,
  note: null,
})

/** ISO 8601 of a local time; with the offset unless that is null. */
function localText(local: number, offset: number | null): string {
  const text = new Date(local).toISOString()
  const seconds = text.endsWith('.000Z') ? text.slice(0, -5) : text.slice(0, -1)
  if (offset === null) return seconds.replace('T', ' ')
  const minutes = Math.abs(Math.round(offset / 60_000))
  const two = (n: number) => String(n).padStart(2, '0')
  return `${seconds}${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`
}
