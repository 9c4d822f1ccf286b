import { rescueLostJobs } from '../engine/rescue.ts'
import { evaluateAlerts, rollUpCounts, summariseFinished } from '../operating/index.ts'
import type { PeriodicTask } from './ticker.ts'

/** Ends the attempts of dead workers. Part of every engine; nothing turns it off (pain 20). */
export const rescueTask = (everyMs: number): PeriodicTask => ({ name: 'jobs.rescue', everyMs, run: rescueLostJobs })

/**
 * What tells how the queue is doing: not jobs, because it must go on when the queue itself does not, and because each
 * would add to what it counts. By one engine per process.
 */
export const WATCHING: readonly PeriodicTask[] = [
  { name: 'jobs.counts', everyMs: 2_000, run: ({ database }) => rollUpCounts(database) },
  { name: 'jobs.alerts', everyMs: 15_000, run: async ({ database }) => void (await evaluateAlerts(database)) },
  { name: 'jobs.summaries', everyMs: 300_000, run: async ({ database }) => void (await summariseFinished(database)) },
]
