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
  if (row.seconds === null)
    return [
      warning(
        `The transaction of ${whoIs(row)} may be a long one: how long it is open, "${row.asker}" may not see.`,
        `grant pg_read_all_stats to "${row.asker}";`,
      ),
    ]
  const age = span(row.seconds)
  if (row.writes) {
    const says = `The watermark of the event log is held for ${age} by ${whoIs(row)}; every subscription waits for it.`
    return [row.seconds >= TOO_LONG_SECONDS ? bad(says, endOf(row)) : warning(says, endOf(row))]
  }
  return [warning(`Vacuum is held back for ${age} by ${whoIs(row)}; the hot tables grow meanwhile.`, endOf(row))]
}

const whoIs = ({ pid, kind, name, user, state, database }: HolderRow): string =>
  pid === null
    ? `${kind} "${name}"`
    : `process ${pid} ("${name}", user ${user ?? 'unknown'}, ${state ?? 'state hidden'}, database ${database ?? 'unknown'})`

function endOf({ pid, kind, name }: HolderRow): string {
  switch (kind) {
    case 'session':
      return `Find out what it does and end it, or: select pg_terminate_backend(${pid});`
    case 'prepared transaction':
      return `COMMIT PREPARED or ROLLBACK PREPARED '${name}'.`
    case 'replication slot':
      return `Let its consumer catch up, or: select pg_drop_replication_slot('${name}');`
  }
}

interface HolderRow {
  readonly kind: 'session' | 'prepared transaction' | 'replication slot'
  readonly pid: number | null
  readonly name: string
  readonly user: string | null
  readonly state: string | null
  readonly database: string | null
  readonly writes: boolean
  /** Null: hidden from who asks, who is another user and has not pg_read_all_stats. */
  readonly seconds: number | null
  readonly asker: string
}

// Who writes holds the watermark of the whole server, who reads holds vacuum back in its own database. Those first that
// matter most, and only those of some age: among the first few of a busy server the one that counts might not be. Of
// other users' transactions an ordinary role sees that they are there and not since when. A slot has no time of its
// own: how far its xmin lies behind says the same as an age in transactions, and counts as old from a million on.
const HOLDERS = statement<HolderRow>(
  'doctor.old_transactions',
  `with holder as (
     select 'session' as kind, pid, application_name as name, usename::text as user, state, datname::text as database,
       backend_xid is not null as writes, extract(epoch from clock_timestamp() - xact_start)::float8 as seconds
     from pg_stat_activity
     where (backend_xid is not null or backend_xmin is not null and datname = current_database())
       and pid <> pg_backend_pid() and usename is not null
       and (xact_start is not null or not pg_has_role('pg_read_all_stats', 'usage'))
     union all
     select 'prepared transaction', null, gid, owner::text, 'prepared', database::text, true,
       extract(epoch from clock_timestamp() - prepared)::float8
     from pg_prepared_xacts
     union all
     select 'replication slot', null, slot_name::text, null, null, database::text, false, 86400::float8
     from pg_replication_slots where greatest(age(xmin), age(catalog_xmin)) > 1000000
   )
   select *, current_user::text as asker from holder
   where seconds is null or seconds >= case when writes then ${LONG_SECONDS} else ${OLD_SNAPSHOT_SECONDS} end
   order by writes desc, seconds desc limit 5`,
)
