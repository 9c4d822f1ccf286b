import type { Database } from '../../src/database/index.ts'
import { countJobs } from '../../src/jobs/index.ts'
import { noop } from './definitions.ts'
import { fill } from './engine.ts'
import { figure, median, ratio } from './print.ts'
import type { BenchServer } from './server.ts'
import { BareWorker } from './worker.ts'

const BATCH = 100
const TIMES = 100
const LITTLE = 10_000

/** The time of a claim and of an ending of 100 jobs, and of the counts by status, with few and with many finished jobs. */
export async function history(server: BenchServer, finished: number): Promise<void> {
  await server.withRegie(async (database) => {
    await fill(database, noop, BATCH * TIMES * 2, 20)
    await finish(database, LITTLE)
    const little = await measure(database)
    await finish(database, finished - LITTLE)
    const much = await measure(database)
    figure(`claim_of_100_with_${LITTLE}_finished`, little.claim, 'ms')
    figure(`claim_of_100_with_${finished}_finished`, much.claim, 'ms')
    ratio('claim_with_much_history', much.claim / little.claim)
    ratio('ending_with_much_history', much.end / little.end)
    figure('counts_by_status_with_much_history', much.counts, 'ms')
  })
}

async function measure(database: Database) {
  const worker = await BareWorker.start(database)
  const claims: number[] = []
  const ends: number[] = []
  for (let time = 0; time < TIMES; time++) {
    const began = performance.now()
    const jobs = await worker.claim(BATCH)
    const claimed = performance.now()
    await worker.end(jobs)
    claims.push(claimed - began)
    ends.push(performance.now() - claimed)
  }
  const counting = performance.now()
  await countJobs(database, {})
  return { claim: median(claims), end: median(ends), counts: performance.now() - counting }
}

/** Jobs that are over, with their attempts, as if they had run. */
async function finish(database: Database, jobs: number): Promise<void> {
  const CHUNK = 500_000
  for (let done = 0; done < jobs; done += CHUNK)
    await database.pool.query(
      `with made as (
         select gen_random_uuid() as id, n from generate_series(1, $1::int) as n
       ), kept as (
         insert into job_finished (id, tenant_id, type, status, urgency, attempt, lost, claim_epoch, policy_id, created_at,
           correlation_id, triggered_by, display_name, payload)
         select id, ('0193a000-0000-7000-8000-' || lpad((n % 1000)::text, 12, '0'))::uuid, 'bench.noop', 'SUCCEEDED', 0, 1,
           0, 1, (select min(id) from job_policy), now(), 'bench-' || n, 'bench', 'noop ' || n, '{"n":1}' from made
       )
       insert into job_count (tenant_id, type, status, jobs)
       select ('0193a000-0000-7000-8000-' || lpad((n % 1000)::text, 12, '0'))::uuid, 'bench.noop', 'SUCCEEDED', count(*)
       from made group by 1
       on conflict (tenant_id, type, status) do update set jobs = job_count.jobs + excluded.jobs`,
      [Math.min(CHUNK, jobs - done)],
    )
  await database.pool.query('vacuum analyze job_finished')
}
