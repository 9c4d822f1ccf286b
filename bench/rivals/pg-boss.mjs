// pg-boss in its best configuration for throughput: batches of 500, four at a time, fetching on while batches are full.
// Prints one line of JSON.
//   node pg-boss.mjs <url> drain <jobs>     fills the queue, then works it off: { added, perSecond }
import { PgBoss } from 'pg-boss'

const [url, , count = '0'] = process.argv.slice(2)
const jobs = Number(count)
const QUEUE = 'noop'
const BATCH = 1_000

const now = () => performance.timeOrigin + performance.now()

const boss = new PgBoss({ connectionString: url, max: 10, supervise: false, schedule: false })
boss.on('error', (error) => process.stderr.write(`${error.message}\n`))
await boss.start()
await boss.createQueue(QUEUE)

const filling = now()
for (let n = 0; n < jobs; n += BATCH)
  await boss.insert(
    QUEUE,
    Array.from({ length: Math.min(BATCH, jobs - n) }, (_, i) => ({ data: { n: n + i } })),
  )
const added = (jobs * 1000) / (now() - filling)

let first = null
let done = 0
let finished
const all = new Promise((resolve) => (finished = resolve))
await boss.work(
  QUEUE,
  { batchSize: 500, localConcurrency: 4, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 },
  async (batch) => {
    first ??= now()
    done += batch.length
    if (done >= jobs) finished()
  },
)
await all
// The last batches are still on their way to the database.
for (;;) {
  const { rows } = await boss
    .getDb()
    .executeSql(`select from pgboss.job where name = $1 and state < 'completed' limit 1`, [QUEUE])
  if (rows.length === 0) break
  await new Promise((resolve) => setTimeout(resolve, 10))
}
process.stdout.write(`${JSON.stringify({ added, perSecond: (jobs * 1000) / (now() - first) })}\n`)
await boss.stop({ graceful: false })
process.exit(0)
