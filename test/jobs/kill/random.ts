/** Chance that can be repeated. */
export interface Random {
  /** From 0 up to, not including, `below`. */
  whole(below: number): number
  chance(probability: number): boolean
  one<T>(of: readonly T[]): T
  /** So many different ones, in their order. */
  some<T>(of: readonly T[], count: number): T[]
}

/** Mulberry32: small, and good enough to draw faults with. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const whole = (below: number) => Math.floor(next() * below)
  return {
    whole,
    chance: (probability) => next() < probability,
    one: (of) => of[whole(of.length)]!,
    some(of, count) {
      const places = new Set<number>()
      while (places.size < Math.min(count, of.length)) places.add(whole(of.length))
      return [...places].sort((a, b) => a - b).map((place) => of[place]!)
    },
  }
}
