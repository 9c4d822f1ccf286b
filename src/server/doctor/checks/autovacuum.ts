import { statement } from '../../../database/index.ts'
import { bad, good, warning, type Check } from '../check.ts'

/** Whether vacuum runs by itself, and with the settings that a queue needs (migration `jobs`). */
export const autovacuum: Check = {
  name: 'autovacuum',
  async look(database) {
    const [row] = await database.run(SETTINGS, [])
    const { on, tracks, workers, naptime, options } = row!
    if (!on || !tracks)
      return [
        bad(
          `${on ? 'track_counts' : 'autovacuum'} is off on this server; the queue will grow without bound.`,
          `Turn it on: alter system set ${on ? 'track_counts' : 'autovacuum'} = on; select pg_reload_conf();`,
        ),
      ]
    if (options.includes('autovacuum_enabled=false'))
      return [bad('Autovacuum is switched off for the table "job".', 'alter table job reset (autovacuum_enabled);')]
    const missing = WANTED.filter((option) => !options.includes(option))
    if (missing.length > 0)
      return [
        warning(
          `The table "job" lacks its own vacuum settings (${missing.join(', ')}).`,
          `alter table job set (${missing.join(', ')});`,
        ),
      ]
    return [good(`Autovacuum is on with ${workers} workers that look every ${naptime}, and eager on the hot table.`)]
  },
}

const WANTED = [
  'autovacuum_vacuum_scale_factor=0',
  'autovacuum_vacuum_threshold=1000',
  'autovacuum_vacuum_cost_delay=0',
]

const SETTINGS = statement<{ on: boolean; tracks: boolean; workers: number; naptime: string; options: string[] }>(
  'doctor.autovacuum',
  `select current_setting('autovacuum')::boolean as on, current_setting('track_counts')::boolean as tracks,
     current_setting('autovacuum_max_workers')::int as workers, current_setting('autovacuum_naptime') as naptime,
     coalesce(reloptions, '{}') as options
   from pg_class where oid = 'job'::regclass`,
)
