import { setTimeout as pause } from 'node:timers/promises'
import { cancelJobs } from '../../../src/jobs/index.ts'
import type { TestDatabase } from '../../harness/database.ts'

/** One run of a scenario: the database as others see it, and the mark that all its jobs carry. */
export interface Stage {
  readonly db: TestDatabase
  readonly run: string
  /** Engines of this run fire a schedule of its own. */
  readonly scheduled?: boolean
}

/** What must have happened before a run counts as over, besides the end of its jobs. */
export type Goal = (stage: Stage) => Promise<boolean>

/** Cancels what would otherwise run for ever. */
export async function cancelAll({ db, run }: Stage): Promise<void> {
  const { rows } = await db.pool.query(
    `select tenant_id, array_agg(id) as ids from job
     where correlation_id = $1 and payload->'plan' ? 'WAIT' and cancel_requested_at is null group by 1`,
    [run],
  )
  for (const { tenant_id: tenantId, ids: jobIds } of rows)
    await cancelJobs(db.database, { tenantId, jobIds, reason: 'enough', actor: 'anna' })
}

/** Makes time pass for a run's jobs: what waits is due, a claim that nobody speaks of is an old one, pauses are over. */
async function hurry({ db, run }: Stage): Promise<void> {
  await db.pool.query(
    `update job set due = least(due, now()),
       claimed_at = case when claimed_at < now() - interval '200 ms' then claimed_at - interval '10 seconds' else claimed_at end
     where id in (
       select id from job where starts_with(correlation_id, $1)
         and (worker_id is null and due > now() or claimed_at between now() - interval '5 seconds' and now() - interval '200 ms')
       for update skip locked)`,
    [run],
  )
  await db.pool.query(
    `update job_breaker set open_until = least(open_until, now()), probe_until = least(probe_until, now())
     where changed_at < now() - interval '200 ms' and now() < case state when 'OPEN' then open_until else probe_until end`,
  )
}

/** Lets time pass until all jobs of the run are over and the goal is reached; false when `untilMs` are over. */
export async function over(stage: Stage, wake: () => void, untilMs: number, goal?: Goal): Promise<boolean> {
  const started = performance.now()
  for (;;) {
    const { rows } = await stage.db.pool.query('select from job where starts_with(correlation_id, $1) limit 1', [
      stage.run,
    ])
    if (rows.length === 0 && ((await goal?.(stage)) ?? true)) return true
    if (performance.now() - started > untilMs) return false
    await hurry(stage)
    wake()
    await pause(4)
  }
}
