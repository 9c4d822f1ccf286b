import type { Queryable } from '../../database/index.ts'
import { firingsAfter } from './firings.ts'
import type { Schedule } from './schedule.ts'
import { DECLARE_SCHEDULES, NOW } from './sql/declare-schedules.ts'

/**
 * Makes the rows of schedules what this release declares. The newest start wins; a row that nobody declares any more
 * stays, for its history, and does not fire.
 */
export async function declareSchedules(on: Queryable, schedules: readonly Schedule[]): Promise<void> {
  const [clock] = await on.run(NOW, [])
  const rows = schedules.map(({ job, payload, ...schedule }) => ({
    ...schedule,
    jobType: job.type,
    payload: JSON.parse(payload) as unknown,
    nextSlot: firingsAfter(schedule, clock!.now.getTime()).next().value?.at ?? null,
  }))
  await on.run(DECLARE_SCHEDULES, [JSON.stringify(rows)])
}
