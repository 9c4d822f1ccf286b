import { type Database, isLockTimeout, isUnreachable, type Statement, statement } from '../../database/index.ts'

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

/**
 * Makes and drops the weeks of finished jobs and deletes what belonged to jobs that can no longer be found. In many short
 * transactions: a long one that writes holds up every subscription, and what had become too much for one statement would
 * never go any more. One kind that cannot be deleted keeps no other.
 *
 * @throws what the first of them threw, after all the others
 */
export async function keepTablesSmall(database: Database, signal: AbortSignal): Promise<RetentionWork> {
  const postponed: string[] = []
  const weeks = async (step: string, sql: Statement<{ name: string }>, values: readonly number[]) => {
    try {
      const rows = await database.rawTransaction(
        async (tx) => {
          await tx.run(LOCK_WEEKS, [])
          await tx.run(NO_STATEMENT_TIMEOUT, [])
          return tx.run(sql, values)
        },
        { lockTimeoutMs: 1_000 },
      )
      return rows.map((row) => row.name)
    } catch (error) {
      // Everybody who writes would queue behind us: give up, the next hour does it.
      if (!isLockTimeout(error)) throw error
      postponed.push(step)
      return []
    }
  }
  const made: string[] = []
  const dropped: string[] = []
  const forgotten: Record<string, number> = {}
  const steps = [
    async () => void made.push(...(await weeks('make', MAKE_AHEAD, []))),
    async () => {
      for (let gone = await weeks('drop', DROP_BEFORE, [RETENTION_MS]); gone.length > 0; ) {
        dropped.push(...gone)
        signal.throwIfAborted()
        gone = await weeks('drop', DROP_BEFORE, [RETENTION_MS])
      }
    },
    ...Object.entries(FORGET).map(([kind, forget]) => async () => {
      forgotten[kind] = 0
      for await (const rows of forget(database)) {
        forgotten[kind] += rows
        signal.throwIfAborted()
      }
    }),
  ]
  const failures: unknown[] = []
  for (const step of steps)
    await step().catch((error: unknown) => {
      if (signal.aborted || isUnreachable(error)) throw error
      failures.push(error)
    })
  if (failures.length > 0) throw failures[0]
  return { made, dropped, forgotten, postponed }
}

/** Of two that make or drop the same week, the second sees what the first has done. Stops nobody who reads or writes. */
const LOCK_WEEKS = statement<never>('jobs.lock_weeks', 'lock table only job_finished in share update exclusive mode')

/** A week may take longer than any statement has; what it waits for is short all the same (`lockTimeoutMs`). */
const NO_STATEMENT_TIMEOUT = statement<never>(
  'jobs.no_statement_timeout',
  `select set_config('statement_timeout', '0', true)`,
)

const MAKE_AHEAD = statement<{ name: string }>(
  'jobs.finished_make_ahead',
  'select name from job_finished_make_ahead() as made(name)',
)

const DROP_BEFORE = statement<{ name: string }>(
  'jobs.finished_drop_before',
  `select name from job_finished_drop_before(now() - $1::float8 * interval '1 millisecond') as dropped(name)`,
)

/** Rows deleted in one statement at most, but for keys. */
const MOST = 5_000

/** Pages of the table of keys looked through in one statement: some 20,000 keys. */
const PAGES = 256

type Forget = (database: Database) => AsyncGenerator<number>

const counting = (what: string, sql: string): Statement<{ rows: number }> =>
  statement(`jobs.forget_${what}`, `with gone as (${sql} returning 1) select count(*)::int as rows from gone`)

/** Deletes a few at a time until there are no more. $1 is how many; the rows are found by where they stand. */
function fewAtATime(what: string, table: string, rows: string, values: readonly number[] = [RETENTION_MS]): Forget {
  const sql = counting(what, `delete from ${table} where ctid = any(array(${rows}))`)
  return async function* forget(database) {
    for (let gone = MOST; gone === MOST; ) {
      gone = (await database.run(sql, [MOST, ...values]))[0]!.rows
      yield gone
    }
  }
}

/**
 * A key goes when its job can no longer be found, so it never stands for nothing. There is no index by age, which every
 * keyed job would pay for: the table is read as it lies, a stretch of pages at a time. The limits keep the planner from
 * reading all that has finished instead of looking for each key's job.
 */
const KEYS = counting(
  'keys',
  `delete from job_key k
  where ctid >= format('(%s,0)', $2::int)::tid and ctid < format('(%s,0)', $3::int)::tid
    and created_at < now() - $1::float8 * interval '1 millisecond'
    and (select true from job where id = k.job_id limit 1) is null
    and (select true from job_finished where id = k.job_id limit 1) is null`,
)

const PAGES_OF_KEYS = statement<{ pages: number }>(
  'jobs.pages_of_keys',
  `select (pg_relation_size('job_key') / current_setting('block_size')::int)::int as pages`,
)

async function* forgetKeys(database: Database): AsyncGenerator<number> {
  const [table] = await database.run(PAGES_OF_KEYS, [])
  for (let page = 0; page < table!.pages; page += PAGES)
    yield (await database.run(KEYS, [RETENTION_MS, page, page + PAGES]))[0]!.rows
}

/** A slot is the proof of its firing as long as its job can be found; of what is done on the spot, for an hour. */
const forgetSlots = fewAtATime(
  'slots',
  'job_slot',
  `select old.ctid from job_schedule d cross join lateral (
    select s.ctid from job_slot s
    where s.schedule = d.name and s.slot < now() - case when d.job_type is null then interval '1 hour'
        else $2::float8 * interval '1 millisecond' end
      and (s.job_id is null or s.finished_at is not null or not exists (select from job where id = s.job_id))
    order by s.slot limit $1::int
  ) old limit $1::int`,
)

/** A batch that somebody adds jobs to is locked by that; it has its jobs when the next run looks. */
const forgetBatches = fewAtATime(
  'batches',
  'job_batch',
  `select ctid from job_batch b
  where created_at < now() - $2::float8 * interval '1 millisecond'
    and not exists (select from job where batch_id = b.id)
    and not exists (select from job_finished where batch_id = b.id)
  order by id limit $1::int for update skip locked`,
)

/** Tokens that are full again are as good as none; so are those of a type that has no rate any more. */
const forgetRates = fewAtATime(
  'rates',
  'job_rate',
  `select ctid from job_rate r
  where refilled_at < now() - interval '1 day'
    and not exists (select from job_type t where t.type = r.type
      and r.refilled_at >= now() - t.rate_per_ms * interval '1 millisecond')
  limit $1::int`,
  [],
)

/** A breaker without a row is closed: a service that nothing was heard of for so long, or that nobody calls any more. */
const forgetBreakers = fewAtATime(
  'breakers',
  'job_breaker',
  `select ctid from job_breaker where changed_at < now() - $2::float8 * interval '1 millisecond' limit $1::int`,
)

const FORGET: Readonly<Record<string, Forget>> = {
  keys: forgetKeys,
  slots: forgetSlots,
  batches: forgetBatches,
  rates: forgetRates,
  breakers: forgetBreakers,
}
