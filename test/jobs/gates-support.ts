import { Claimer } from '../../src/jobs/engine/claimer.ts'
import { Permits } from '../../src/jobs/engine/permits.ts'
import { type AnyJobDefinition, JobRegistry } from '../../src/jobs/index.ts'
import { keepWorkers } from '../../src/jobs/lease.ts'
import type { TestDatabase } from '../harness/database.ts'
import { silent } from './support.ts'

/** A tenant's id by its number. */
export const tenant = (n: number): string => `0193a000-0000-7000-9000-${String(n).padStart(12, '0')}`

let workers = 0

/** A live worker without handlers: what it claims, it keeps. */
export async function claimerOf(db: TestDatabase, definitions: readonly AnyJobDefinition[]) {
  const workerId = `0193a000-0000-7000-8000-${String(++workers).padStart(12, '0')}`
  await keepWorkers(db.database, [{ id: workerId, slot: 0 }], 60_000)
  let statements = 0
  const database = Object.create(db.database) as typeof db.database
  database.run = (statement, values) => {
    statements++
    return db.database.run(statement, values)
  }
  const claimer = new Claimer({
    database,
    registry: new JobRegistry(definitions),
    workerId,
    logger: silent,
    transactions: new Permits(1),
    onCommitted: () => {},
    signal: null,
  })
  const claim = async (jobs: number, atOnce = jobs) => {
    const taken = await claimer.claim({ jobs, atOnce })
    return [...taken.gated, ...taken.jobs]
  }
  return { workerId, claimer, claim, statements: () => statements }
}

/** Declares types as a process that knows them does when it starts. */
export async function declare(db: TestDatabase, ...definitions: readonly AnyJobDefinition[]): Promise<void> {
  await db.pool.query(
    `insert into job_policy (id, class, max_attempts, max_lost, delays_ms, jitter, timeout_ms)
     values (1, 'FOLLOW_UP', 1, 0, '{}', 0, 1) on conflict do nothing`,
  )
  for (const { type, class: jobClass, payloadVersion = 1, dependency, limits = {} } of definitions)
    await db.pool.query(
      `insert into job_type (type, class, policy_name, policy_id, payload_version, dependency, max_running,
         max_running_per_tenant, rate_jobs, rate_per_ms) values ($1, $2, $2, 1, $3, $4, $5, $6, $7, $8)`,
      [
        type,
        jobClass,
        payloadVersion,
        typeof dependency === 'string' ? dependency : null,
        limits.running ?? null,
        limits.runningPerTenant ?? null,
        limits.ratePerTenant?.jobs ?? null,
        limits.ratePerTenant?.perMs ?? null,
      ],
    )
}

export const pause = (db: TestDatabase, type: string) =>
  db.pool.query(`update job_type set paused_at = now(), paused_by = 'anna', paused_reason = 'a test' where type = $1`, [
    type,
  ])

export const resume = (db: TestDatabase, type: string) =>
  db.pool.query('update job_type set paused_at = null, paused_by = null, paused_reason = null where type = $1', [type])

/** Ends what a claimer holds, as if its handlers had succeeded. */
export const endAll = (db: TestDatabase, ids: readonly string[]) =>
  db.pool.query('delete from job where id = any($1)', [ids])
