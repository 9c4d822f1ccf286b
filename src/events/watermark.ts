import { statement, type Queryable } from '../database/index.ts'

/** How final the log is: for health checks and metrics. */
export interface WatermarkStatus {
  /** How long the oldest writing transaction of the whole server has been open, in seconds; 0 without one. */
  readonly ageSeconds: number
  /** Committed events that nobody may read yet because of it; counted up to 10,000. */
  readonly heldBack: number
  /** Who holds the watermark; null when nobody does. Sessions of other database users need `pg_read_all_stats`. */
  readonly holder: {
    /** Null for a prepared transaction. */
    readonly pid: number | null
    /** For a prepared transaction its name. */
    readonly applicationName: string
    readonly database: string
  } | null
}

/** Reads the watermark's age and its holder. A transaction in any database of the server holds it. */
export async function watermarkStatus(db: Queryable): Promise<WatermarkStatus> {
  const [row] = await db.run(STATUS, [])
  const { ageSeconds, heldBack, pid, applicationName, database } = row!
  return {
    ageSeconds,
    heldBack,
    holder: applicationName === null || database === null ? null : { pid, applicationName, database },
  }
}

// Long transactions that only read are no holders: without a transaction id they do not count.
const STATUS = statement<{
  ageSeconds: number
  heldBack: number
  pid: number | null
  applicationName: string | null
  database: string | null
}>(
  'events.watermark',
  `with holder as (
     select age(backend_xid) as age, xact_start as since, pid, application_name as name, datname as database
     from pg_stat_activity where backend_xid is not null and pid <> pg_backend_pid()
     union all
     select age(transaction), prepared, null, gid, database from pg_prepared_xacts
     order by age desc limit 1
   )
   select coalesce(extract(epoch from clock_timestamp() - holder.since), 0)::float8 as "ageSeconds",
     (select count(*)::int from (
        select from event e
        where e.epoch = event_log_current_epoch() and e.xid >= pg_snapshot_xmin(pg_current_snapshot()) limit 10000
      ) waiting) as "heldBack",
     holder.pid, holder.name as "applicationName", holder.database::text
   from (select) here left join holder on true`,
)
