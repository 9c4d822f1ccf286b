import type { Database } from '../../src/database/index.ts'
import { jobHints } from '../../src/jobs/host/index.ts'
import { enqueue } from '../../src/jobs/index.ts'
import { begun } from './definitions.ts'
import { request, startEngine } from './engine.ts'
import { figure, median, ratio } from './print.ts'
import { RivalProcess, runRival } from './rivals.ts'
import type { BenchServer } from './server.ts'

/**
 * From the commit of an enqueue to the begin of its handler, while nothing else is to be done: in the process that
 * enqueues, and in another one that hears of it by NOTIFY. Beside graphile-worker, which has LISTEN for both.
 */
export async function latency(server: BenchServer, jobs: number): Promise<void> {
  const inProcess = await server.withRegie(async (database, url) => {
    const running = await startEngine(url)
    const p50 = await oneAtATime(database, jobs, () => running.wake())
    await running.stop()
    return p50
  })
  // The threads of another `Jobs` are to this process what another process's are: they hear of nothing but NOTIFY.
  const across = await server.withRegie(async (database, url) => {
    const running = await startEngine(url, { notify: true })
    const hints = jobHints(database.pool)
    const p50 = await oneAtATime(database, jobs, () => hints.announce())
    await running.stop()
    return p50
  })
  const graphile = await runRival<{ p50: number }>('graphile-worker', await server.database(), 'latency', String(jobs))
  const graphileAcross = await acrossGraphile(await server.database(), jobs)
  figure('start_latency_p50_in_process', inProcess, 'ms')
  figure('graphile_worker_start_latency_p50_in_process', graphile.p50, 'ms')
  ratio('start_latency_in_process_vs_graphile_worker', inProcess / graphile.p50)
  figure('start_latency_p50_across_processes', across, 'ms')
  figure('graphile_worker_start_latency_p50_across_processes', graphileAcross, 'ms')
  ratio('start_latency_across_vs_graphile_worker', across / graphileAcross)
}

async function oneAtATime(database: Database, jobs: number, tell: () => void): Promise<number> {
  const committed = new Map<string, number>()
  for (let n = 0; n < jobs; n++) {
    await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 20))
    const { jobId } = await enqueue(database, begun, request(n))
    committed.set(jobId, performance.timeOrigin + performance.now())
    tell()
  }
  for (;;) {
    const { rows } = await database.pool.query<{ id: string; at: number }>(
      `select id, (output ->> 'at')::float8 as at from job_finished where type = $1`,
      [begun.type],
    )
    if (rows.length === jobs) return median(rows.map(({ id, at }) => at - committed.get(id)!))
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function acrossGraphile(url: string, jobs: number): Promise<number> {
  const serving = new RivalProcess('graphile-worker', url, 'serve')
  await serving.answer<string>()
  const { added } = await runRival<{ added: Record<string, number> }>('graphile-worker', url, 'add', String(jobs))
  serving.finish()
  const { begins } = await serving.answer<{ begins: Record<string, number> }>()
  await serving.ended()
  return median(Object.entries(begins).map(([n, at]) => at - added[n]!))
}
