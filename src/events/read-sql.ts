import { statement, type Statement } from '../database/index.ts'
import type { EventLog } from './log.ts'

/** What each row of a page says about the page; an empty page is one row without an event. */
export interface PageColumns {
  readonly watermark: string
  readonly expired: boolean
  readonly readAt: Date
  readonly eventXid: string | null
  readonly eventId: string | null
}

/**
 * A page of a log. `$1 $2 $3` position read up to (epoch, xid, id), `$4` limit, `$5` epoch of the log when that
 * position was given out, then one JSON list or null per filter, then the tenant.
 *
 * - Rows, watermark and expiry come from one statement, hence one snapshot. In two, under READ COMMITTED, a
 *   transaction that commits in between is passed over for good.
 * - `xid < pg_snapshot_xmin(pg_current_snapshot())`: a cursor over the id alone missed 27 to 50 % of the events of
 *   8 to 16 parallel writers; so did one that asked pg_visible_in_snapshot per row, and on a standby that function
 *   says "visible" of open transactions.
 * - Always ordered by qualified columns: a bare `order by xid` means the text of the select list, so that 1000
 *   comes before 998 and a reader skips at every roll-over.
 * - `xid >=` repeats what the row comparison says, because only it prunes partitions (1 scanned instead of all);
 *   the watermark is a stable expression in place, not a CTE, so that it prunes as well.
 * - Expiry is decided here and not before: to drop a partition takes a lock that conflicts with this read, so
 *   this snapshot either still has the partition or knows that it is gone.
 */
export function readPage<Columns>(log: EventLog<Columns>, oneTenant: boolean): Statement<PageColumns & Columns> {
  const filters = (log.filters ?? []).map(
    ({ column, type }, index) =>
      `and ($${6 + index}::text is null
            or e.${column} = any (array(select v::${type} from jsonb_array_elements_text($${6 + index}::text::jsonb) v)))`,
  )
  if (oneTenant) filters.push(`and e.tenant_id = $${6 + filters.length}::uuid`)
  return statement<PageColumns & Columns>(
    `events.read.${log.table}.${oneTenant ? 'tenant' : 'all'}`,
    `select page.watermark, page.expired, page."readAt", e.xid::text as "eventXid", e.id::text as "eventId", ${log.columns}
     from (
       select pg_snapshot_xmin(pg_current_snapshot())::text as watermark,
         $5::int <> event_log_current_epoch()
           or exists (select from event_log_partition p
                      where p.log = '${log.table}' and p.dropped_at is not null
                        and (p.epoch, p.upper) > ($1::int, $2::text::xid8))
           or ($1::int = $5::int and not pg_is_in_recovery()
               and $2::text::xid8 > pg_snapshot_xmax(pg_current_snapshot())) as expired,
         clock_timestamp() as "readAt"
     ) page
     left join lateral (
       select * from ${log.table} e
       where e.epoch = $1::int
         and e.xid >= $2::text::xid8
         and (e.xid, e.id) > ($2::text::xid8, $3::text::bigint)
         and e.xid < case when $1::int < event_log_current_epoch() then '18446744073709551615'::xid8
                          else pg_snapshot_xmin(pg_current_snapshot()) end
         ${filters.join('\n         ')}
       order by e.xid, e.id
       limit $4::int
     ) e on true
     order by e.xid, e.id`,
  )
}

/** The log's epoch and watermark now, and where its oldest event may stand. */
export const logEnds = ({ table }: EventLog<unknown>) =>
  statement<{ epoch: number; watermark: string; oldestEpoch: number; oldestXid: string }>(
    `events.ends.${table}`,
    `select event_log_current_epoch() as epoch, pg_snapshot_xmin(pg_current_snapshot())::text as watermark,
       coalesce(gone.epoch, 1) as "oldestEpoch", coalesce(gone.upper, '0'::xid8)::text as "oldestXid"
     from (select) here
     left join lateral (
       select p.epoch, p.upper from event_log_partition p
       where p.log = '${table}' and p.dropped_at is not null
       order by p.epoch desc, p.upper desc limit 1
     ) gone on true`,
  )
