import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { enqueue, type Jobs, startJobs } from '../../src/jobs/index.ts'
import type { TestServer } from '../harness/server.ts'
import { stubbornJob, noopJob } from './fixtures/definitions.ts'
import { enqueueNumbers, OTHER_TENANT, range, TENANT } from './support.ts'
import { DEFINITIONS, type useEffects } from './threads-support.ts'

export interface OutageParts {
  readonly own: TestServer
  readonly effects: ReturnType<typeof useEffects>
}

export interface Line {
  readonly level: string
  readonly message: string
  readonly at: number
}

/** Worker threads under load, with everything they say. */
export class Load {
  readonly lines: Line[] = []
  readonly #parts: OutageParts
  readonly #first: number
  #jobs: Jobs | null = null
  #wanted = 0
  #caller: Promise<void> | null = null
  #calling = true

  /** `first`: the number from which on this load's effects are counted. */
  constructor(parts: OutageParts, first: number) {
    this.#parts = parts
    this.#first = first
  }

  async start(threads = 2): Promise<void> {
    const say = (level: string) => (_: object, message: string) =>
      void this.lines.push({ level, message, at: performance.now() })
    this.#jobs = await startJobs({
      databaseUrl: this.#parts.own.url,
      preparedStatements: true,
      threads,
      definitionsModule: DEFINITIONS,
      logger: { info: say('info'), warn: say('warn'), error: say('error') },
      leaseMs: 3_000,
    })
    this.#caller = this.#call()
  }

  /** How many of its effects have happened. */
  async done(): Promise<number> {
    const { rows } = await this.#parts.own.pool.query(
      'select count(*)::int as n from effect where n >= $1 and n < $2',
      [this.#first, this.#first + 100_000],
    )
    return rows[0].n
  }

  async moreDone(count: number): Promise<void> {
    const before = await this.done()
    await expect.poll(() => this.done(), { timeout: 60_000 }).toBeGreaterThanOrEqual(before + count)
  }

  /** Ends the load, waits until all is done, and proves that nothing was lost and nothing done twice. */
  async allDone(timeout = 60_000): Promise<void> {
    this.#calling = false
    await this.#caller
    const { effects, own } = this.#parts
    await expect.poll(() => effects.left(), { timeout, interval: 100 }).toBe(0)
    const numbers = range(this.#wanted).map((n) => this.#first + n)
    expect(await effects.of(numbers)).toEqual(numbers.map((n) => ({ n, status: 'SUCCEEDED', times: 1 })))
    expect(await effects.double()).toEqual([])
    const { rows } = await own.pool.query(
      `select status, count(*)::int - count(distinct id)::int as twice from job_finished where type like 'fixture.%' group by 1`,
    )
    expect(rows).toEqual([{ status: 'SUCCEEDED', twice: 0 }])
  }

  async stop(): Promise<void> {
    this.#calling = false
    await this.#jobs?.stop(10_000)
  }

  /** Somebody who enqueues all the time and asks again, with the same key, until there is an answer. */
  async #call(): Promise<void> {
    const { own } = this.#parts
    for (; this.#calling && this.#wanted < 100_000; this.#wanted++) {
      const n = this.#first + this.#wanted
      const request = {
        jobId: randomUUID(),
        tenantId: n % 3 === 0 ? TENANT : OTHER_TENANT,
        payload: { n },
        correlationId: `corr-${n}`,
        triggeredBy: 'tester',
      }
      for (let answered = false; !answered; )
        try {
          await enqueue(own.database, stubbornJob, { ...request, idempotencyKey: `effect ${n}` })
          if (n % 4 === 0)
            await enqueue(own.database, noopJob, { ...request, jobId: randomUUID(), idempotencyKey: `noop ${n}` })
          answered = true
        } catch {
          await new Promise((resolve) => setTimeout(resolve, 20))
        }
      if (n % 50 === 0) this.#jobs?.wake()
      // Steady, and slower than the threads: a backlog would hide when they stand still.
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
}

type Outage = (own: TestServer) => Promise<void>

/** What happens to the server; each leaves it running again. */
export const OUTAGES: Readonly<Record<string, Outage>> = {
  'stopped in order and started': (own) => own.restart(),
  'gone as in a power cut and started': async (own) => {
    await own.kill()
    await own.start()
  },
  // As after an immediate shutdown: the server ends all sessions at once and recovers from its log by itself.
  'recovering from a crash': async (own) => {
    const { rows } = await own.pool.query('select pg_backend_pid() as pid')
    process.kill(rows[0].pid, 'SIGKILL')
    await expect
      .poll(
        () =>
          own.pool.query('select').then(
            () => true,
            () => false,
          ),
        { timeout: 30_000 },
      )
      .toBe(true)
  },
}

/** Under load, so many times; then everything goes on by itself, the schedules included. */
export async function outage(parts: OutageParts, first: number, happens: Outage, times: number): Promise<void> {
  const load = new Load(parts, first)
  try {
    await load.start()
    for (let time = 0; time < times; time++) {
      await load.moreDone(50)
      await happens(parts.own)
    }
    await load.moreDone(50)
    const { rows } = await parts.own.pool.query('select clock_timestamp() as now')
    await expect.poll(() => firedSince(parts.own, rows[0].now), { timeout: 30_000 }).toBe(true)
    await load.allDone()
  } finally {
    await load.stop()
  }
}

const firedSince = async (own: TestServer, since: Date): Promise<boolean> =>
  (await own.pool.query('select from job_slot where fired_at > $1 limit 1', [since])).rowCount === 1

/** All connections of the threads are cut, again and again, whenever some more work has been done. */
export async function cuts(parts: OutageParts, first: number, times: number): Promise<void> {
  const load = new Load(parts, first)
  try {
    await load.start()
    for (let time = 0; time < times; time++) {
      await load.moreDone(10)
      await parts.own.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'regie worker%' or application_name = 'regie leases'`,
      )
    }
    await load.allDone()
  } finally {
    await load.stop()
  }
}

/**
 * One transaction stays open for a while with a snapshot and some jobs' rows locked. Everybody else's jobs go on; those
 * whose rows it locks end when it does, and end once.
 */
export async function heldTransaction(parts: OutageParts, first: number, seconds: number): Promise<void> {
  const { own, effects } = parts
  const load = new Load(parts, first)
  const locked = range(5).map((n) => first + 90_000 + n)
  const holder = await own.pool.connect()
  let held: Promise<unknown> = Promise.resolve()
  try {
    const ids = await enqueueNumbers(own, stubbornJob, locked)
    await holder.query('begin isolation level repeatable read')
    await holder.query('select from job where id = any($1) for update', [ids])
    await load.start()
    held = holder.query('select pg_sleep($1)', [seconds])
    let over = false
    void held.then(() => (over = true))
    // Also what is of the same tenant and of another type than the rows that are locked.
    const noops = await noopsOf(own, TENANT)
    await load.moreDone(20)
    await expect.poll(() => noopsOf(own, TENANT), { timeout: seconds * 1_000 }).toBeGreaterThan(noops)
    expect(over).toBe(false)
    await held
    expect(await effects.of(locked)).toEqual([])
    await holder.query('rollback')
    await load.allDone()
    expect(await effects.of(locked)).toEqual(locked.map((n) => ({ n, status: 'SUCCEEDED', times: 1 })))
  } finally {
    await held
    await holder.query('rollback')
    holder.release()
    await load.stop()
  }
}

const noopsOf = async (own: TestServer, tenantId: string): Promise<number> =>
  (
    await own.pool.query(`select count(*)::int as n from job_finished where tenant_id = $1 and type = 'fixture.noop'`, [
      tenantId,
    ])
  ).rows[0].n

/** The database is away for so long; what is said of it stays readable. */
export async function quietOutage(parts: OutageParts, first: number, seconds: number): Promise<void> {
  const { own } = parts
  const load = new Load(parts, first)
  try {
    await load.start()
    await load.moreDone(10)
    const before = load.lines.length
    await own.stop()
    const from = performance.now()
    await expect.poll(() => performance.now() - from, { timeout: seconds * 2_000 }).toBeGreaterThan(seconds * 1_000)
    const said = load.lines.slice(before)
    await own.start()
    await load.allDone()
    console.log(`${said.length} lines in ${seconds} s without a database:`, counted(said))
    expect(said.length).toBeGreaterThan(0)
    // Ten kinds of line, each at intervals that double, from two threads.
    expect(said.length).toBeLessThan(2 * 10 * (1 + Math.log2(1 + seconds)))
  } finally {
    await load.stop()
  }
}

function counted(lines: readonly Line[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { message } of lines) {
    const kind = message.replace(/\d+/g, 'n')
    counts[kind] = (counts[kind] ?? 0) + 1
  }
  return counts
}
