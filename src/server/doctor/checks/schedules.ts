import { statement } from '../../../database/index.ts'
import { bad, good, span, type Check } from '../check.ts'

const LATE_SECONDS = 120

/** Schedules whose time has come and that nobody fires (pain 10: cron that stopped in silence). */
export const schedules: Check = {
  name: 'schedules',
  async look(database) {
    const rows = await database.run(OVERDUE, [LATE_SECONDS])
    if (rows.length === 0) return [good('Every schedule is fired in time.')]
    return rows.map(({ name, seconds }) =>
      bad(
        `The schedule "${name}" should have fired ${span(seconds)} ago.`,
        'A living worker that declares it fires it; see the checks "workers" and "types".',
      ),
    )
  },
}

const OVERDUE = statement<{ name: string; seconds: number }>(
  'doctor.schedules',
  `select name, extract(epoch from clock_timestamp() - next_slot)::float8 as seconds
   from job_schedule
   where paused_at is null and next_slot < clock_timestamp() - $1::float8 * interval '1 second'
   order by next_slot`,
)
