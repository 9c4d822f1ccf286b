import { firingsAfter } from './firings.ts'
import type { MissedPolicy, ScheduleTiming } from './schedule.ts'

/** What is to be done about a schedule whose next slot has come. Oldest first. */
export interface DueSlots {
  readonly fire: readonly Date[]
  /** Left out by the missed-run policy; the newest of them, if there were very many. */
  readonly missed: readonly Date[]
  /** Strictly after now; null when there is none any more. */
  readonly next: Date | null
}

/** A slot that is not older than this was not missed: somebody has to look before it can be fired. */
const GRACE_MS = 60_000

/** Most slots of an outage that get a row: what was missed is told by the newest as well as by all. */
const MOST_RECORDED = 100

/** @param from the schedule's next slot, due @param now the database's clock */
export function dueSlots(
  timing: ScheduleTiming & { readonly missed: MissedPolicy; readonly missedLimit: number },
  from: Date,
  now: Date,
): DueSlots {
  const slots = newestSlots(timing, from.getTime(), now.getTime(), MOST_RECORDED + timing.missedLimit)
  const newest = slots.at(-1)
  const onTime = newest !== undefined && now.getTime() - newest <= GRACE_MS
  const wanted = { SKIP: onTime ? 1 : 0, RUN_LAST: 1, RUN_ALL: timing.missedLimit }[timing.missed]
  const split = Math.max(0, slots.length - wanted)
  const [following] = firingsAfter(timing, now.getTime())
  return {
    fire: slots.slice(split).map((slot) => new Date(slot)),
    missed: slots.slice(Math.max(0, split - MOST_RECORDED), split).map((slot) => new Date(slot)),
    next: following?.at ?? null,
  }
}

/**
 * The newest slots from one moment to another, both included; at least `most` if there are so many. Looked for in
 * spans that double backwards: a schedule of every second after an outage of a month has millions of older ones.
 */
function newestSlots(timing: ScheduleTiming, from: number, until: number, most: number): number[] {
  for (let span = 60_000; ; span *= 2) {
    const begin = Math.max(from, until - span)
    const slots: number[] = []
    for (const { at } of firingsAfter(timing, begin - 1)) {
      if (at.getTime() > until) break
      slots.push(at.getTime())
    }
    if (begin === from || slots.length >= most) return slots
  }
}
