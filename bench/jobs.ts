import { domainRows } from './jobs/domain-rows.ts'
import { fairness } from './jobs/fairness.ts'
import { heldSnapshot } from './jobs/held-snapshot.ts'
import { history } from './jobs/history.ts'
import { latency } from './jobs/latency.ts'
import { idleMemory } from './jobs/memory.ts'
import { installRivals } from './jobs/rivals.ts'
import { type BenchServer, withServer } from './jobs/server.ts'
import { singleEnqueue } from './jobs/single-enqueue.ts'
import { throughput } from './jobs/throughput.ts'
import { walPerJob } from './jobs/wal.ts'

// What the job engine can do, beside its rivals in the same run on the same server: an embedded one with ordinary,
// durable settings, or the one of DATABASE_URL, in databases that are made and dropped.
//
//   npm run bench -- jobs [figure] [count] [rounds]

const ROUNDS = 3

const FIGURES: Record<
  string,
  { count: number; run(server: BenchServer, count: number, rounds: number): Promise<void> }
> = {
  throughput: { count: 60_000, run: throughput },
  'single-enqueue': { count: 6_400, run: (server, _, rounds) => singleEnqueue(server, rounds) },
  'domain-rows': { count: 40_000, run: domainRows },
  latency: { count: 200, run: latency },
  wal: { count: 20_000, run: walPerJob },
  fairness: { count: 300_000, run: fairness },
  'held-snapshot': { count: 200_000, run: heldSnapshot },
  history: { count: 1_000_000, run: history },
  memory: { count: 4, run: idleMemory },
}

const [wanted, count, rounds = ROUNDS] = process.argv.slice(2)
const chosen = Object.entries(FIGURES).filter(([name]) => wanted === undefined || name === wanted)
if (chosen.length === 0) {
  console.error(`There is no figure "${wanted}". Choose one of: ${Object.keys(FIGURES).join(', ')}; or none for all.`)
  process.exit(1)
}
installRivals()
await withServer(async (server) => {
  for (const [name, figure] of chosen) {
    console.log(`── ${name}`)
    await figure.run(server, count === undefined ? figure.count : Number(count), Number(rounds))
  }
})
