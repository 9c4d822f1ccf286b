import type { Database } from '../../src/database/index.ts'
import { noop } from './definitions.ts'
import { fill, tenant } from './engine.ts'
import { figure, median, ratio } from './print.ts'
import type { BenchServer } from './server.ts'
import { BareWorker } from './worker.ts'

const TENANTS = 1_000
const CLAIM = 100
const TIMES = 200

/**
 * A claim of 100 among many waiting jobs, nearly all of them one tenant's and a few each of 999 others, beside one that
 * takes the oldest of a plain table. In turn; what was taken is ended, not timed.
 */
export async function fairness(server: BenchServer, jobs: number): Promise<void> {
  await server.withRegie(async (database) => {
    await fill(database, noop, TENANTS * 10, TENANTS)
    await fill(database, noop, jobs - TENANTS * 10, 1)
    await plainTable(database, jobs)
    const worker = await BareWorker.start(database)
    const fair: number[] = []
    const fifo: number[] = []
    const served = new Set<string>()
    for (let time = 0; time < TIMES; time++) {
      const began = performance.now()
      const taken = await worker.claim(CLAIM)
      fair.push(performance.now() - began)
      for (const { tenantId } of taken) served.add(tenantId)
      await worker.end(taken)
      fifo.push(await oldest(database))
    }
    if (!served.has(tenant(TENANTS - 1))) throw new Error('The small tenants were not served.')
    figure('claim_of_100_fair', median(fair), 'ms')
    figure('claim_of_100_oldest_first', median(fifo), 'ms')
    ratio('fair_claim_vs_oldest_first', median(fair) / median(fifo))
  })
}

async function plainTable(database: Database, jobs: number): Promise<void> {
  await database.pool.query(
    `create table fifo (like job including defaults);
     insert into fifo select * from job order by id limit ${jobs};
     alter table fifo add primary key (id);
     create index on fifo (due) where worker_id is null`,
  )
  await database.pool.query('vacuum analyze fifo')
}

/** What a queue without tenants does: milliseconds. */
async function oldest(database: Database): Promise<number> {
  const began = performance.now()
  const { rows } = await database.pool.query({
    name: 'fifo',
    text: `update fifo set status = 'PROCESSING', attempt = attempt + 1, worker_id = id, claimed_at = clock_timestamp()
      where id = any(array(
        select id from fifo where worker_id is null and due <= now() order by due limit $1 for update skip locked
      )) returning id, tenant_id, type, attempt, payload`,
    values: [CLAIM],
  })
  const took = performance.now() - began
  await database.pool.query('delete from fifo where id = any($1)', [rows.map(({ id }) => id)])
  return took
}
