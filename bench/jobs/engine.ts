import { fileURLToPath } from 'node:url'
import type { Database } from '../../src/database/index.ts'
import { enqueueMany, type EnqueueRequest, type JobDefinition, startJobs } from '../../src/jobs/index.ts'

const TENANTS = 20
/** As many as the machine has cores for. */
export const THREADS = 2

/** A tenant's id by its number. */
export const tenant = (n: number): string => `0193a000-0000-7000-8000-${String(n).padStart(12, '0')}`

export const request = (n: number, tenants = TENANTS): EnqueueRequest<{ n: number }> => ({
  tenantId: tenant(n % tenants),
  payload: { n },
  correlationId: `bench-${n}`,
  triggeredBy: 'bench',
})

/** Enqueues so many by the thousand; answers with jobs per second. */
export async function fill(
  database: Database,
  definition: JobDefinition<{ n: number }>,
  count: number,
  tenants = TENANTS,
): Promise<number> {
  const started = performance.now()
  for (let n = 0; n < count; n += 1000)
    await enqueueMany(
      database,
      definition,
      Array.from({ length: Math.min(1000, count - n) }, (_, i) => request(n + i, tenants)),
    )
  const perSecond = (count * 1000) / (performance.now() - started)
  // As autovacuum leaves it; without statistics the planner could not go wrong, which is what it likes to do.
  await database.pool.query('vacuum analyze job')
  return perSecond
}

export const startEngine = (url: string, options: { threads?: number; notify?: boolean } = {}) =>
  startJobs({
    databaseUrl: url,
    preparedStatements: true,
    threads: options.threads ?? THREADS,
    notify: options.notify ?? false,
    definitionsModule: fileURLToPath(new URL('./definitions.js', import.meta.url)),
    logger: { info() {}, warn: report, error: report },
  })

const report = (fields: object, message: string): void => console.error(message, fields)

/**
 * Works off what waits of a type, on two threads. Jobs per second by the database's clock, without the start of threads:
 * from the first begin to the last end, or from the end of the first tenth (`steady`), when handlers load what they need
 * at their first call.
 */
export async function workOff(database: Database, url: string, type: string, steady = false): Promise<number> {
  const { rows: before } = await database.pool.query<{ now: Date }>('select clock_timestamp() as now')
  const running = await startEngine(url)
  await drained(database, type)
  await running.stop()
  const { rows } = await database.pool.query<{ n: number; seconds: number }>(
    `with ended as (
       select recorded_at, started_at, row_number() over (order by recorded_at) as place from job_event
       where type = $1 and recorded_at >= $2 and "to" = 'SUCCEEDED'
     ), began as (
       select coalesce(max(place), 0) as place, coalesce(max(recorded_at), (select min(started_at) from ended)) as at
       from ended where $3 and place <= (select count(*) / 10 from ended)
     )
     select count(*)::int as n, extract(epoch from max(recorded_at) - began.at)::float8 as seconds
     from ended join began on ended.place > began.place group by began.at`,
    [type, before[0]!.now, steady],
  )
  const [{ n, seconds } = { n: 0, seconds: 0 }] = rows
  if (n === 0) throw new Error('No job has run.')
  return n / seconds
}

async function drained(database: Database, type: string): Promise<void> {
  for (;;) {
    const { rows } = await database.pool.query('select from job where type = $1 limit 1', [type])
    if (rows.length === 0) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
