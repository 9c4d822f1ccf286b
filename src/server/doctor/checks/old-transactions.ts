import { statement } from '../../../database/index.ts'
import { bad, good, span, warning, type Check, type Finding } from '../check.ts'

const LONG_SECONDS = 5
const TOO_LONG_SECONDS = 60
const OLD_SNAPSHOT_SECONDS = 300

/**
 * Who keeps what standing still. A transaction that writes holds the watermark: no subscription goes on before it
 * ends. One that only reads, a replication slot or a prepared transaction keeps vacuum from the hot tables (fact 6).
 */
export const oldTransactions: Check = {
  name: 'transactions',
  async look(database) {
    const rows = await database.run(HOLDERS, [])
    const findings = rows.flatMap(findingOf)
    return findings.length > 0 ? findings : [good('No transaction is open for long, and nothing holds vacuum back.')]
  },
}

function findingOf(row: HolderRow): Finding[] {
  const who =
    row.pid === null
      ? `${row.kind} "${row.name}"`
      : `process ${row.pid} ("${row.name}", user ${row.user ?? 'unknown'}, ${row.state ?? 'state hidden'}, database ${row.database ?? 'unknown'})`
  const age = span(row.seconds)
  const end =
    row.kind === 'session'
      ? `Find out what it does and end it, or: select pg_terminate_backend(${row.pid});`
      : row.kind === 'prepared transaction'
        ? `COMMIT PREPARED or ROLLBACK PREPARED '${row.name}'.`
        : `Let its consumer catch up, or: select pg_drop_replication_slot('${row.name}');`
  if (row.writes && row.seconds >= LONG_SECONDS) {
    const says = `The watermark of the event log is held for ${age} by ${who}; every subscription waits for it.`
    return [row.seconds >= TOO_LONG_SECONDS ? bad(says, end) : warning(says, end)]
  }
  if (!row.writes && row.seconds >= OLD_SNAPSHOT_SECONDS)
    return [warning(`Vacuum is held back for ${age} by ${who}; the hot tables grow meanwhile.`, end)]
  return []
}

interface HolderRow {
  readonly kind: 'session' | 'prepared transaction' | 'replication slot'
  readonly pid: number | null
  readonly name: string
  readonly user: string | null
  readonly state: string | null
  readonly database: string | null
  readonly writes: boolean
  readonly seconds: number
}

// A slot has no time of its own: how far its xmin lies behind says the same as an age in transactions, and counts
// as old from a million on.
const HOLDERS = statement<HolderRow>(
  'doctor.old_transactions',
  `select 'session' as kind, pid, application_name as name, usename::text as user, state, datname::text as database,
     backend_xid is not null as writes, extract(epoch from clock_timestamp() - xact_start)::float8 as seconds
   from pg_stat_activity
   where (backend_xid is not null or backend_xmin is not null) and xact_start is not null and pid <> pg_backend_pid()
   union all
   select 'prepared transaction', null, gid, owner::text, 'prepared', database::text, true,
     extract(epoch from clock_timestamp() - prepared)::float8
   from pg_prepared_xacts
   union all
   select 'replication slot', null, slot_name::text, null, null, database::text, false, 86400::float8
   from pg_replication_slots where greatest(age(xmin), age(catalog_xmin)) > 1000000
   order by seconds desc limit 5`,
)
