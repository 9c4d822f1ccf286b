import type { Queryable } from '../../database/index.ts'

/** What a check found. A warning is worth a look; what is bad keeps work from being done, or soon will. */
export interface Finding {
  readonly state: 'good' | 'warning' | 'bad'
  /** What is so, in one sentence with its numbers. */
  readonly says: string
  /** What to do about it; absent when all is well. */
  readonly next?: string
}

/** One question that the doctor asks of a database. It reads and never locks or writes. */
export interface Check {
  readonly name: string
  look(database: Queryable): Promise<readonly Finding[]>
}

export const good = (says: string): Finding => ({ state: 'good', says })
export const warning = (says: string, next: string): Finding => ({ state: 'warning', says, next })
export const bad = (says: string, next: string): Finding => ({ state: 'bad', says, next })

/** A span for people: `850 ms`, `12 s`, `7 min`, `3.5 h`, `2 days`. */
export function span(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`
  if (seconds < 120) return `${Math.round(seconds)} s`
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 360) / 10} h`
  return `${Math.round(seconds / 86_400)} days`
}
