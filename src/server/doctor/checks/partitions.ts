import { statement } from '../../../database/index.ts'
import { good, warning, type Check, type Finding } from '../check.ts'

/** Whether the logs and the finished jobs have their partitions: rows in a default partition came too late for one. */
export const partitions: Check = {
  name: 'partitions',
  async look(database) {
    const rows = await database.run(DEFAULTS, [])
    const findings = rows.flatMap(({ table, pages }): Finding[] =>
      pages === 0
        ? []
        : [
            warning(
              `"${table}" holds rows for which there was no partition in time.`,
              'The task that makes partitions moves them; a living worker runs it every few minutes.',
            ),
          ],
    )
    return findings.length > 0 ? findings : [good('Every partition was there in time.')]
  },
}

// Failed jobs that outlive their week stay in the default partition of the finished jobs on purpose.
const DEFAULTS = statement<{ table: string; pages: number }>(
  'doctor.partitions',
  `select relname::text as table, (pg_relation_size(oid) / current_setting('block_size')::int)::int as pages
   from pg_class where relname in ('event_default', 'job_event_default')`,
)
