import { expect } from 'vitest'
import { nextFirings, type ScheduleTiming } from '../../src/jobs/index.ts'
import { type Transition, zoneOf } from '../../src/jobs/periodic/zone.ts'

export const HOUR = 3_600_000
export const DAY = 24 * HOUR

export type Rules = Partial<Pick<ScheduleTiming, 'dstGap' | 'dstOverlap'>>

export const timing = (cron: string, timeZone: string, rules: Rules = {}): ScheduleTiming => ({
  everyMs: null,
  cron,
  timeZone,
  dstGap: 'RUN_AFTER',
  dstOverlap: 'ONCE',
  ...rules,
})

/** Zones with whole hours, half an hour, a month without, a day left out, midnight, and none at all. */
const ZONES = [
  'Europe/Amsterdam',
  'America/New_York',
  'Australia/Lord_Howe',
  'Africa/Casablanca',
  'Pacific/Apia',
  'America/Sao_Paulo',
  'Asia/Kathmandu',
  'Africa/Cairo',
  'Asia/Gaza',
  'Europe/Dublin',
  'America/St_Johns',
  'Pacific/Chatham',
  'America/Havana',
  'Antarctica/Troll',
  'Asia/Pyongyang',
]

export type ZoneChange = Transition & { readonly zone: string }

/** Every change of clocks of these zones from 1996 to 2045. */
export const CHANGES: readonly ZoneChange[] = ZONES.flatMap((zone) => {
  const found: ZoneChange[] = []
  let at = Date.UTC(1996, 0, 1)
  for (;;) {
    const change = zoneOf(zone).firstTransition(at, Date.UTC(2046, 0, 1))
    if (change === null) break
    found.push({ zone, ...change })
    at = change.at
  }
  return found
})

/** Minute and hour of a local time, as cron says it. */
const daily = (local: number) => `${new Date(local).getUTCMinutes()} ${new Date(local).getUTCHours()} * * *`

/** What a zone's clock shows in each minute around a change, found by asking for each minute. */
function minutesAround(zone: string, at: number): { instant: number; local: number }[] {
  const minutes = []
  for (let instant = at - 2 * DAY; instant < at + 2 * DAY; instant += 60_000)
    minutes.push({ instant, local: instant + zoneOf(zone).offsetAt(instant) })
  return minutes
}

/** Times before, in and after what a change skips or repeats fire as a count of the minutes that a clock shows says. */
export function checkTimesOfDay(changes: readonly ZoneChange[]): void {
  for (const { zone, at, before, after } of changes) {
    const around = minutesAround(zone, at)
    const first = around[0]!.instant
    const last = around.at(-1)!.instant
    const [low, high] = before < after ? [at + before, at + after] : [at + after, at + before]
    for (const wall of [low - 60_000, low, (low + high) / 2, high - 60_000, high, high + 15 * 60_000]) {
      const cron = daily(wall)
      const minute = ((wall % DAY) + DAY) % DAY
      const shown = around.filter(({ local }) => ((local % DAY) + DAY) % DAY === minute)
      for (const dstOverlap of ['ONCE', 'TWICE'] as const)
        for (const dstGap of ['SKIP', 'RUN_AFTER'] as const) {
          // By minutes: a local time that was shown before is a repetition; a day on which it was not shown is a gap.
          const seen = new Set<number>()
          const expected = new Set<number>()
          for (const { instant, local } of shown) {
            if (dstOverlap === 'TWICE' || !seen.has(local)) expected.add(instant)
            seen.add(local)
          }
          const skipped = before < after && [...skippedDays(low, high, minute)].length > 0
          if (skipped && dstGap === 'RUN_AFTER') expected.add(at)
          const found = nextFirings(timing(cron, zone, { dstGap, dstOverlap }), new Date(first - 1), 40)
            .map((firing) => firing.at.getTime())
            .filter((instant) => instant <= last)
          const where = `${cron} ${zone} ${new Date(at).toISOString()} ${dstGap} ${dstOverlap}`
          expect(found, where).toEqual([...expected].toSorted((a, b) => a - b))
        }
    }
  }
}

/** Days whose local time `minute` lies within what was skipped. */
function* skippedDays(low: number, high: number, minute: number): Generator<number> {
  for (let day = Math.floor(low / DAY) - 1; day * DAY <= high; day++)
    if (day * DAY + minute >= low && day * DAY + minute < high) yield day
}

/** Every quarter of an hour goes on through a change: elapsed time, none left out, none twice. */
export function checkQuarters(changes: readonly ZoneChange[]): void {
  for (const { zone, at } of changes) {
    const found = nextFirings(timing('*/15 * * * *', zone), new Date(at - 3 * HOUR), 40).map((firing) =>
      firing.at.getTime(),
    )
    for (const [index, instant] of found.entries()) {
      if (index > 0) expect(instant, `${zone} ${new Date(instant).toISOString()}`).toBeGreaterThan(found[index - 1]!)
      expect((instant + zoneOf(zone).offsetAt(instant)) % (15 * 60_000)).toBe(0)
    }
    // Nowhere longer than a quarter, but where the change itself moves the quarters.
    const gaps = found.slice(1).map((instant, index) => instant - found[index]!)
    expect(Math.max(...gaps), zone).toBeLessThanOrEqual(30 * 60_000)
  }
}
