import { fileURLToPath } from 'node:url'
import { Database, EmbeddedPostgres, migrate, projectFolder } from '../src/database/index.ts'
import { enqueue, enqueueMany, type EnqueueRequest, startJobs } from '../src/jobs/index.ts'
import { noop } from './jobs/definitions.ts'
import { rawSql } from './jobs/raw-sql.ts'

// How many no-op jobs the real engine runs per second, each with its attempt in the history, on two worker
// threads; beside it, in the same rounds on the same server, the two bare statements it could at best be. With
// DATABASE_URL on that database, which must be a scratch one; else on an embedded server with its ordinary,
// durable settings. Arguments: jobs per round (60,000), rounds (3).

const [jobs = 60_000, rounds = 3] = process.argv.slice(2).map(Number)
const TENANTS = 20
const THREADS = 2

export async function run(): Promise<void> {
  const given = process.env['DATABASE_URL']
  const server = given ? null : await EmbeddedPostgres.start({ project: projectFolder(), name: `bench-${process.pid}` })
  const url = given ?? server!.url()
  await migrate(url)
  const database = new Database({ url, max: 18, applicationName: 'regie bench', preparedStatements: true })
  try {
    const engine: number[] = []
    const raw: number[] = []
    const bulk: number[] = []
    for (let round = 0; round < rounds; round++) {
      bulk.push(await fill(database))
      engine.push(await engineRound(database, url))
      raw.push(await rawSql(url, jobs))
    }
    figure('enqueued_in_bulk', median(bulk), 'per_second')
    figure('jobs_per_second', median(engine), 'per_second')
    figure('raw_sql_jobs_per_second', median(raw), 'per_second')
    ratio('jobs_vs_raw_sql', median(engine) / median(raw))
    await single(database)
    // It changes the server's settings for a moment, so only on our own.
    if (server !== null) await walPerJob(database, url)
    await idleMemory(url)
  } finally {
    await database.close()
    await server?.stop()
    server?.remove()
  }
}

const request = (n: number): EnqueueRequest<{ n: number }> => ({
  tenantId: `0193a000-0000-7000-8000-${String(n % TENANTS).padStart(12, '0')}`,
  payload: { n },
  correlationId: `bench-${n}`,
  triggeredBy: 'bench',
})

/** Enqueues a round's jobs by the thousand; answers with jobs per second. */
async function fill(database: Database, count = jobs): Promise<number> {
  const started = performance.now()
  for (let n = 0; n < count; n += 1000)
    await enqueueMany(
      database,
      noop,
      Array.from({ length: Math.min(1000, count - n) }, (_, i) => request(n + i)),
    )
  const perSecond = (count * 1000) / (performance.now() - started)
  await database.pool.query('vacuum analyze job')
  return perSecond
}

const start = (url: string, threads: number) =>
  startJobs({
    databaseUrl: url,
    preparedStatements: true,
    threads,
    definitionsModule: fileURLToPath(new URL('./jobs/definitions.js', import.meta.url)),
    logger: { info() {}, warn: report, error: report },
  })

const report = (fields: object, message: string): void => console.error(message, fields)

/** Jobs per second from the first begin to the last end, by the database's clock: without the start of threads. */
async function engineRound(database: Database, url: string): Promise<number> {
  const { rows: before } = await database.pool.query<{ now: Date }>('select clock_timestamp() as now')
  const running = await start(url, THREADS)
  await drained(database)
  await running.stop()
  const { rows } = await database.pool.query<{ n: number; seconds: number }>(
    `select count(*)::int as n, extract(epoch from max(recorded_at) - min(started_at))::float8 as seconds
     from job_event where type = $1 and recorded_at >= $2 and "to" = 'SUCCEEDED'`,
    [noop.type, before[0]!.now],
  )
  const [{ n, seconds } = { n: 0, seconds: 0 }] = rows
  if (n === 0) throw new Error('No job has run.')
  return n / seconds
}

async function drained(database: Database): Promise<void> {
  for (;;) {
    const { rows } = await database.pool.query('select from job limit 1')
    if (rows.length === 0) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** One job per transaction from sixteen clients, beside a plain insert of a row of the same size. */
async function single(database: Database): Promise<void> {
  const [clients, each] = [16, 400]
  const rate = async (act: (n: number) => Promise<unknown>) => {
    const started = performance.now()
    await Promise.all(
      Array.from({ length: clients }, async (_, client) => {
        for (let n = 0; n < each; n++) await act(client * each + n)
      }),
    )
    return (clients * each * 1000) / (performance.now() - started)
  }
  await database.pool.query('create table plain (like job including defaults including indexes)')
  const plain = await rate((n) =>
    database.pool.query({
      name: 'plain',
      text: `insert into plain (id, tenant_id, type, policy_id, due, correlation_id, triggered_by, display_name, payload)
        values (gen_random_uuid(), $1, 'bench.noop', 1, now(), $2, 'bench', $3, $4)`,
      values: [request(n).tenantId, `bench-${n}`, `noop ${n}`, JSON.stringify({ n })],
    }),
  )
  const own = await rate((n) => enqueue(database, noop, request(n)))
  await database.pool.query('drop table plain; truncate job')
  figure('enqueued_one_by_one_16_clients', own, 'per_second')
  ratio('enqueue_vs_plain_insert', own / plain)
}

/** Write-ahead log of one job from enqueue to its end, without the full-page images that checkpoints cause. */
async function walPerJob(database: Database, url: string): Promise<void> {
  const count = 20_000
  await database.pool.query('alter system set full_page_writes = off')
  await database.pool.query('select pg_reload_conf()')
  await database.pool.query('checkpoint')
  const { rows: before } = await database.pool.query('select pg_current_wal_insert_lsn() as lsn')
  await fill(database, count)
  await engineRound(database, url)
  const { rows } = await database.pool.query(
    'select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), $1)::float8 as bytes',
    [before[0].lsn],
  )
  await database.pool.query('alter system reset full_page_writes')
  await database.pool.query('select pg_reload_conf()')
  figure('wal_per_job', rows[0].bytes / count, 'bytes')
}

/** What four idle worker threads add to this process, after their start has settled. */
async function idleMemory(url: string): Promise<void> {
  const megabytes = () => process.memoryUsage().rss / 1024 / 1024
  const before = megabytes()
  const running = await start(url, 4)
  await new Promise((resolve) => setTimeout(resolve, 3_000))
  figure('four_idle_threads_add', megabytes() - before, 'MB')
  await running.stop()
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!
}

function figure(name: string, value: number, unit: string): void {
  console.log(`figure ${name} ${Math.round(value)} ${unit}`)
}

function ratio(name: string, value: number): void {
  console.log(`ratio ${name} ${value.toFixed(2)}`)
}

await run()
