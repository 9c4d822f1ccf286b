import { statement } from '../../../database/index.ts'
import { bad, good, warning, type Check, type Finding } from '../check.ts'

/** The tables that every job passes through; what they hold too much is paid by every claim. */
export const HOT_TABLES = ['job', 'job_worker', 'job_slot', 'job_rate', 'job_breaker', 'job_count'] as const

const FEW = 5_000

/** Dead rows and empty space of the hot tables, from the statistics: no table is read. */
export const bloat: Check = {
  name: 'bloat',
  async look(database) {
    const rows = await database.run(TABLES, [HOT_TABLES])
    const findings = rows.flatMap(findingOf)
    const megabytes = rows.reduce((sum, row) => sum + row.bytes, 0) / 1024 / 1024
    return findings.length > 0
      ? findings
      : [good(`The hot tables take ${megabytes.toFixed(1)} MB and hold few dead rows.`)]
  },
}

function findingOf({ table, live, dead, bytes, rowBytes, vacuumed }: TableRow): Finding[] {
  const when = vacuumed === null ? 'never' : `last at ${vacuumed.toISOString()}`
  if (dead > FEW && dead > live * 5) {
    const says = `"${table}" holds ${dead} dead rows for ${live} live ones; it was vacuumed ${when}.`
    return [
      dead > 50 * FEW
        ? bad(says, 'See who holds vacuum back (check "transactions"), then: vacuum ' + table + ';')
        : warning(says, 'Autovacuum should see to it within a minute; if not, see the check "transactions".'),
    ]
  }
  const needed = Math.max(live, FEW) * Math.max(rowBytes, 200) * 4
  if (bytes > needed && bytes > 64 * 1024 * 1024)
    return [
      warning(
        `"${table}" takes ${Math.round(bytes / 1024 / 1024)} MB for ${live} rows.`,
        `The space is used again by later jobs. To give it back, in a quiet hour: vacuum full ${table}; (it locks the table)`,
      ),
    ]
  return []
}

interface TableRow {
  readonly table: string
  readonly live: number
  readonly dead: number
  readonly bytes: number
  readonly rowBytes: number
  readonly vacuumed: Date | null
}

const TABLES = statement<TableRow>(
  'doctor.bloat',
  `select relname::text as table, n_live_tup::float8 as live, n_dead_tup::float8 as dead,
     pg_total_relation_size(relid)::float8 as bytes, greatest(last_vacuum, last_autovacuum) as vacuumed,
     coalesce((select sum(avg_width) from pg_stats s
               where s.schemaname = t.schemaname and s.tablename = t.relname), 0)::float8 as "rowBytes"
   from pg_stat_user_tables t where relname = any($1::text[]) order by relname`,
)
