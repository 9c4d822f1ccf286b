import { type Database, isLockTimeout, type Statement, statement } from '../../database/index.ts'

/** How long finished jobs, their attempts, their idempotency keys and their slots can be found. Failed jobs stay. */
export const RETENTION_MS = 30 * 24 * 60 * 60_000

/** What a run of the retention did. */
export interface RetentionWork {
  /** Weeks of finished jobs, made ahead and dropped. */
  readonly made: readonly string[]
  readonly dropped: readonly string[]
  /** Rows deleted, by kind. */
  readonly forgotten: Readonly<Record<string, number>>
  /** A step that found the table too busy; the next run does it. */
  readonly postponed: readonly string[]
}

/** Makes and drops the weeks of finished jobs and deletes what belonged to jobs that can no longer be found. */
export async function keepTablesSmall(database: Database, signal: AbortSignal): Promise<RetentionWork> {
  const postponed: string[] = []
  const partitions = async (name: string, sql: Statement<{ name: string }>, values: readonly number[]) => {
    try {
      const rows = await database.rawTransaction((tx) => tx.run(sql, values), { lockTimeoutMs: 1_000 })
      return rows.map((row) => row.name)
    } catch (error) {
      // Everybody who writes would queue behind us: give up, the next hour does it.
      if (!isLockTimeout(error)) throw error
      postponed.push(name)
      return []
    }
  }
  const made = await partitions('make', MAKE_AHEAD, [])
  const dropped = await partitions('drop', DROP_BEFORE, [RETENTION_MS])
  const forgotten: Record<string, number> = {}
  for (const [kind, sql, values] of FORGET) {
    signal.throwIfAborted()
    const [gone] = await database.run(sql, values)
    forgotten[kind] = gone!.rows
  }
  return { made, dropped, forgotten, postponed }
}

const MAKE_AHEAD = statement<{ name: string }>(
  'jobs.finished_make_ahead',
  'select name from job_finished_make_ahead() as made(name)',
)

const DROP_BEFORE = statement<{ name: string }>(
  'jobs.finished_drop_before',
  `select name from job_finished_drop_before(now() - $1::float8 * interval '1 millisecond') as dropped(name)`,
)

const forget = (what: string, sql: string): Statement<{ rows: number }> =>
  statement(`jobs.forget_${what}`, `with gone as (${sql} returning 1) select count(*)::int as rows from gone`)

/** A key goes when its job can no longer be found, so it never stands for nothing. */
const KEYS = forget(
  'keys',
  `delete from job_key k
  where created_at < now() - $1::float8 * interval '1 millisecond'
    and not exists (select from job where id = k.job_id)
    and not exists (select from job_finished where id = k.job_id)`,
)

/** A slot is the proof of its firing as long as its job can be found; of what is done on the spot, for an hour. */
const SLOTS = forget(
  'slots',
  `delete from job_slot s using job_schedule d
  where d.name = s.schedule and s.slot < now() - case when d.job_type is null then interval '1 hour'
      else $1::float8 * interval '1 millisecond' end
    and (s.job_id is null or s.finished_at is not null or not exists (select from job where id = s.job_id))`,
)

/** A batch that somebody adds jobs to is locked by that; it has its jobs when the next run looks. */
const BATCHES = forget(
  'batches',
  `delete from job_batch where id = any(array(
    select id from job_batch b
    where created_at < now() - $1::float8 * interval '1 millisecond'
      and not exists (select from job where batch_id = b.id)
      and not exists (select from job_finished where batch_id = b.id)
    order by id for update skip locked))`,
)

/** Tokens that are full again are as good as none; so are those of a type that has no rate any more. */
const RATES = forget(
  'rates',
  `delete from job_rate r
  where refilled_at < now() - interval '1 day'
    and not exists (select from job_type t where t.type = r.type
      and r.refilled_at >= now() - t.rate_per_ms * interval '1 millisecond')`,
)

/** A breaker without a row is closed: a service that nothing was heard of for so long, or that nobody calls any more. */
const BREAKERS = forget(
  'breakers',
  `delete from job_breaker where changed_at < now() - $1::float8 * interval '1 millisecond'`,
)

const FORGET = [
  ['keys', KEYS, [RETENTION_MS]],
  ['slots', SLOTS, [RETENTION_MS]],
  ['batches', BATCHES, [RETENTION_MS]],
  ['rates', RATES, []],
  ['breakers', BREAKERS, [RETENTION_MS]],
] as const
