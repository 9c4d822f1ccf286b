import { expect } from 'vitest'
import type { TestDatabase } from '../harness/database.ts'
import { effectJob, noopJob } from './fixtures/definitions.ts'
import { enqueueNumbers, OTHER_TENANT, range, TENANT } from './support.ts'
import type { useEffects, useProcesses } from './threads-support.ts'

interface RaceParts {
  readonly db: TestDatabase
  readonly effects: ReturnType<typeof useEffects>
  readonly processes: ReturnType<typeof useProcesses>
}

/** Several processes with several threads each on one backlog: every attempt runs once, every effect happens once. */
export async function race(
  { db, effects, processes }: RaceParts,
  size: { effects: number; noops: number; processes: number; threads: number },
) {
  const numbers = range(size.effects)
  const jobs = size.effects + size.noops
  const tenants = (n: number) => ({ tenantId: n % 3 === 0 ? TENANT : OTHER_TENANT })
  await enqueueNumbers(db, effectJob, numbers, tenants)
  await enqueueNumbers(db, noopJob, range(size.noops), tenants)
  const children = await Promise.all(range(size.processes).map(() => processes.start({ threads: size.threads })))
  await expect.poll(effects.left, { timeout: 40_000 + jobs * 10, interval: 100 }).toBe(0)
  expect(await effects.double()).toEqual([])
  const rows = await effects.of(numbers)
  expect(rows).toHaveLength(size.effects)
  expect(rows.filter((row) => row.times !== 1)).toEqual([])
  const { rows: attempts } = await db.pool.query(
    `select "to", attempt::int, count(*)::int as n, count(distinct job_id)::int as jobs, count(distinct worker_id)::int as workers
     from job_event where "to" <> 'SCHEDULED' group by 1, 2`,
  )
  expect(attempts).toMatchObject([{ to: 'SUCCEEDED', attempt: 1, n: jobs, jobs }])
  // All threads had their part in it.
  expect(attempts[0].workers).toBe(size.processes * size.threads)
  for (const child of children) expect(await processes.stop(child)).toBe(0)
  expect((await db.pool.query('select * from job_worker')).rows).toEqual([])
}
