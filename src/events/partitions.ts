import { isLockTimeout, sqlState, statement, type Database, type Queryable, type Statement } from '../database/index.ts'
import { EVENTS, type EventLog } from './log.ts'

export interface MaintenanceOptions {
  /** Default: the log of the domains. */
  readonly log?: EventLog<unknown>
  /** Events are kept at least so long, in milliseconds; null keeps them for ever. */
  readonly retentionMs: number | null
}

/** What a run of the maintenance did. */
export interface PartitionWork {
  /** Partitions made ahead, and the one that took over what had ended in the default partition. */
  readonly made: readonly string[]
  /** Events found in the default partition: maintenance came too late for them. Worth an alarm. */
  readonly rescued: number
  readonly dropped: readonly string[]
  /** A step that found the log too busy; the next run does it. */
  readonly postponed: readonly ('move' | 'make' | 'drop')[]
}

/**
 * Keeps a log's partitions: makes the next one before it is needed, moves out what fell into the default one, and
 * drops what is past its retention. Runs at start and every few minutes, in any number of processes at once. Each
 * step is a transaction of its own that gives up after a second of waiting: it would stop every writer behind it.
 */
export async function maintainPartitions(database: Database, options: MaintenanceOptions): Promise<PartitionWork> {
  const log = options.log ?? EVENTS
  const postponed: PartitionWork['postponed'][number][] = []
  const step = async <T>(name: (typeof postponed)[number], fallback: T, work: (tx: Queryable) => Promise<T>) => {
    try {
      return await database.rawTransaction(
        async (tx) => {
          await tx.run(LOCK_LOG, [log.table])
          return work(tx)
        },
        { lockTimeoutMs: 1_000 },
      )
    } catch (error) {
      // A row of the new range that is in the default partition already: transaction ids were used up faster than
      // this ran. The next run moves it.
      if (!isLockTimeout(error) && sqlState(error) !== CHECK_VIOLATION) throw error
      postponed.push(name)
      return fallback
    }
  }
  const named = async (tx: Queryable, sql: Statement<{ name: string | null }>, ...values: number[]) =>
    (await tx.run(sql, [log.table, ...values]))[0]?.name ?? null

  const moved = await step('move', null, async (tx) => (await tx.run(MOVE_DEFAULT, [log.table]))[0] ?? null)
  const made = await step('make', null, (tx) => named(tx, MAKE_AHEAD))
  await closeEnded(database, log)
  const dropped: string[] = []
  const dropOldest = () => step('drop', null, (tx) => named(tx, DROP_OLDEST, options.retentionMs!))
  if (options.retentionMs !== null)
    for (let gone = await dropOldest(); gone !== null; gone = await dropOldest()) dropped.push(gone)
  return {
    made: [moved?.name, made].filter((name) => name != null),
    rescued: moved?.rows ?? 0,
    dropped,
    postponed,
  }
}

/**
 * Begins a new epoch of every log: after a restore, or a move to a server whose transaction ids begin anew. All
 * cursors given out before have then expired. Returns the new epoch.
 */
export async function raiseEpoch(database: Queryable, by: string, why: string): Promise<number> {
  const [raised] = await database.run(RAISE_EPOCH, [by, why])
  return raised!.epoch
}

/**
 * Notes the times of partitions that can get no more events, once each. The scan may take minutes, so it is a
 * transaction that only reads: one that writes would hold back the watermark, and every subscription with it.
 */
async function closeEnded(database: Database, log: EventLog<unknown>): Promise<void> {
  for (const { name } of await database.run(ENDED, [log.table])) {
    const [times] = await database.rawTransaction(async (tx) => {
      await tx.run(NO_STATEMENT_TIMEOUT, [])
      return tx.run(timesOf(name), [])
    })
    await database.run(CLOSE, [log.table, name, times!.first, times!.last])
  }
}

const CHECK_VIOLATION = '23514'

const LOCK_LOG = statement<unknown>('events.partitions.lock', 'select from event_log where name = $1 for update')

const MOVE_DEFAULT = statement<{ name: string; rows: number }>(
  'events.partitions.move_default',
  'select partition as name, moved::int as rows from event_log_move_default($1)',
)

const MAKE_AHEAD = statement<{ name: string | null }>(
  'events.partitions.make_ahead',
  'select event_log_make_ahead($1) as name',
)

const ENDED = statement<{ name: string }>(
  'events.partitions.ended',
  `select p.name from event_log_partition p
   where p.log = $1 and p.closed_at is null
     and (p.epoch < event_log_current_epoch() or p.upper <= pg_snapshot_xmin(pg_current_snapshot()))
   order by p.epoch, p.lower`,
)

const NO_STATEMENT_TIMEOUT = statement<unknown>(
  'events.partitions.no_timeout',
  `select set_config('statement_timeout', '0', true)`,
)

const timesOf = (partition: string) =>
  statement<{ first: Date | null; last: Date | null }>(
    `events.partitions.times.${partition}`,
    `select min(recorded_at) as first, max(recorded_at) as last from "${partition}"`,
  )

const CLOSE = statement<unknown>(
  'events.partitions.close',
  `update event_log_partition p
   set closed_at = now(), first_recorded_at = $3::timestamptz, last_recorded_at = $4::timestamptz
   where p.log = $1 and p.name = $2 and p.closed_at is null`,
)

const DROP_OLDEST = statement<{ name: string | null }>(
  'events.partitions.drop_oldest',
  `select event_log_drop_oldest($1, $2::float8 * interval '1 millisecond') as name`,
)

const RAISE_EPOCH = statement<{ epoch: number }>(
  'events.partitions.raise_epoch',
  'select event_log_raise_epoch($1, $2) as epoch',
)
