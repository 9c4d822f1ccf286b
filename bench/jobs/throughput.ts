import { noop } from './definitions.ts'
import { fill, workOff } from './engine.ts'
import { figure, median, ratio } from './print.ts'
import { rawSql } from './raw-sql.ts'
import { runRival } from './rivals.ts'
import type { BenchServer } from './server.ts'

interface Drained {
  readonly added: number
  readonly perSecond: number
}

/**
 * No-op jobs per second, each with its attempt in the history and one event: ours on two threads, the rivals in their
 * best published configuration, and two bare statements that are the upper bound; and how fast all of them are
 * enqueued in bulk. In turn, round by round, so that a slow moment of the machine strikes all.
 */
export async function throughput(server: BenchServer, jobs: number, rounds: number): Promise<void> {
  const ours: Drained[] = []
  const graphile: Drained[] = []
  const boss: Drained[] = []
  const raw: number[] = []
  const count = String(jobs)
  for (let round = 0; round < rounds; round++) {
    const drained = server.withRegie(async (database, url) => {
      const added = await fill(database, noop, jobs)
      return { added, perSecond: await workOff(database, url, noop.type) }
    })
    ours.push(await drained)
    graphile.push(await runRival('graphile-worker', await server.database(), 'drain', count))
    boss.push(await runRival('pg-boss', await server.database(), 'drain', count))
    raw.push(await rawSql(await server.database(), jobs))
  }
  const rate = (of: readonly Drained[]) => median(of.map(({ perSecond }) => perSecond))
  const bulk = (of: readonly Drained[]) => median(of.map(({ added }) => added))
  figure('jobs_per_second', rate(ours), 'per_second')
  figure('graphile_worker_jobs_per_second', rate(graphile), 'per_second')
  figure('pg_boss_jobs_per_second', rate(boss), 'per_second')
  figure('raw_sql_jobs_per_second', median(raw), 'per_second')
  ratio('jobs_vs_graphile_worker', rate(ours) / rate(graphile))
  ratio('jobs_vs_pg_boss', rate(ours) / rate(boss))
  ratio('jobs_vs_raw_sql', rate(ours) / median(raw))
  figure('enqueued_in_bulk', bulk(ours), 'per_second')
  figure('graphile_worker_enqueued_in_bulk', bulk(graphile), 'per_second')
  figure('pg_boss_enqueued_in_bulk', bulk(boss), 'per_second')
  ratio('bulk_enqueue_vs_graphile_worker', bulk(ours) / bulk(graphile))
}
