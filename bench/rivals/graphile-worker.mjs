// graphile-worker in its best published configuration (its website, "Performance": 24 jobs at once, a local queue of
// 500, completions batched without delay), driven as ours is. Prints one line of JSON.
//   node graphile-worker.mjs <url> drain <jobs>     fills the table, then works it off: { added, perSecond }
//   node graphile-worker.mjs <url> latency <jobs>   adds one at a time in this process: { p50 }
//   node graphile-worker.mjs <url> serve            works until its input ends; then { begins: { n: milliseconds } }
//   node graphile-worker.mjs <url> add <jobs>       adds one at a time for another process: { added: { n: milliseconds } }
import { once } from 'node:events'
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import pg from 'pg'

const [url, mode, count = '0'] = process.argv.slice(2)
const jobs = Number(count)
const BATCH = 5_000

const pgPool = new pg.Pool({ connectionString: url, max: 30 })
pgPool.on('error', () => {})
pgPool.on('connect', (client) => client.on('error', () => {}))
const logger = new Logger(() => () => {})
const now = () => performance.timeOrigin + performance.now()
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1]
const print = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`)

const utils = await makeWorkerUtils({ pgPool, logger })
await utils.migrate()

const work = (task) =>
  run({
    pgPool,
    logger,
    noHandleSignals: true,
    taskList: { noop: task },
    preset: {
      worker: {
        concurrentJobs: 24,
        localQueue: { size: 500 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
      },
    },
  })

async function drain() {
  const filling = now()
  for (let n = 0; n < jobs; n += BATCH)
    await utils.addJobs(
      Array.from({ length: Math.min(BATCH, jobs - n) }, (_, i) => ({ identifier: 'noop', payload: { n: n + i } })),
    )
  const added = (jobs * 1000) / (now() - filling)
  await pgPool.query('vacuum analyze graphile_worker._private_jobs')
  let first = null
  const runner = await work(async () => {
    first ??= now()
  })
  for (;;) {
    const { rows } = await pgPool.query('select from graphile_worker._private_jobs limit 1')
    if (rows.length === 0) break
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  print({ added, perSecond: (jobs * 1000) / (now() - first) })
  await runner.stop()
}

async function latency() {
  let begun = () => {}
  const runner = await work(async () => begun(now()))
  const took = []
  for (let n = 0; n < jobs; n++) {
    await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 20))
    const begins = new Promise((resolve) => (begun = resolve))
    await utils.addJob('noop', { n })
    const committed = now()
    took.push((await begins) - committed)
  }
  print({ p50: median(took) })
  await runner.stop()
}

async function serve() {
  const begins = {}
  const runner = await work(async ({ n }) => void (begins[n] = now()))
  print('ready')
  process.stdin.resume()
  await once(process.stdin, 'end')
  print({ begins })
  await runner.stop()
}

async function add() {
  const added = {}
  for (let n = 0; n < jobs; n++) {
    await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 20))
    await utils.addJob('noop', { n })
    added[n] = now()
  }
  print({ added })
}

await { drain, latency, serve, add }[mode]()
await utils.release()
await pgPool.end()
process.exit(0)
