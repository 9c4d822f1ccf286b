import { overdueMs, readSchedules } from '../../../jobs/index.ts'
import { bad, good, span, type Check } from '../check.ts'

const LATE_MS = 120_000

/** Schedules whose time has come and that nobody fires (pain 10: cron that stopped in silence). */
export const schedules: Check = {
  name: 'schedules',
  async look(database) {
    const late = (await readSchedules(database))
      .map((schedule) => ({ name: schedule.name, ms: overdueMs(schedule) }))
      .filter(({ ms }) => ms >= LATE_MS)
    if (late.length === 0) return [good('Every schedule is fired in time.')]
    return late.map(({ name, ms }) =>
      bad(
        `The schedule "${name}" should have fired ${span(ms / 1000)} ago.`,
        'A living worker that declares it fires it; see the checks "workers" and "types".',
      ),
    )
  },
}
