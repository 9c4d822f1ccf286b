import { afterEach } from 'vitest'
import { z } from 'zod'
import { Database } from '../../src/database/index.ts'
import {
  type AnyJobDefinition,
  defineJob,
  Engine,
  type EngineOptions,
  type EngineSignal,
  enqueueMany,
  type EnqueueRequest,
  type JobDefinition,
  succeeded,
} from '../../src/jobs/index.ts'
import type { TestDatabase } from '../harness/database.ts'

export const TENANT = '0193a000-0000-7000-8000-00000000000a'
export const OTHER_TENANT = '0193a000-0000-7000-8000-00000000000b'

/** What an engine said. Tests wait for a signal, past or future, and never for time. */
export class Signals {
  readonly all: EngineSignal[] = []
  readonly #waiting = new Set<() => void>()

  readonly push = (signal: EngineSignal): void => {
    this.all.push(signal)
    for (const look of [...this.#waiting]) look()
  }

  /** Resolves with the first signal of that kind that fits. */
  first<Kind extends EngineSignal['kind']>(
    kind: Kind,
    fits: (signal: Extract<EngineSignal, { kind: Kind }>) => boolean = () => true,
  ): Promise<Extract<EngineSignal, { kind: Kind }>> {
    return this.#until(() => this.of(kind).find(fits))
  }

  /** Resolves when so many jobs have ended. */
  ended(count: number): Promise<unknown> {
    return this.#until(() => (this.of('ENDED').length >= count ? true : undefined))
  }

  of<Kind extends EngineSignal['kind']>(kind: Kind): Extract<EngineSignal, { kind: Kind }>[] {
    return this.all.filter((signal): signal is Extract<EngineSignal, { kind: Kind }> => signal.kind === kind)
  }

  #until<T>(find: () => T | undefined): Promise<T> {
    return new Promise((resolve) => {
      const look = () => {
        const found = find()
        if (found === undefined) return
        this.#waiting.delete(look)
        resolve(found)
      }
      this.#waiting.add(look)
      look()
    })
  }
}

/** A promise with its handle outside: what a handler waits for until the test lets it go on. */
export function gate<T = void>(): { promise: Promise<T>; open: (value: T) => void } {
  let open: (value: T) => void = () => {}
  const promise = new Promise<T>((resolve) => (open = resolve))
  return { promise, open }
}

export const silent = { info() {}, warn() {}, error() {} }

/** Engines of a test file; those that a test leaves running are stopped after it. */
export function useEngines(db: TestDatabase) {
  const running: { engine: Engine; database: Database }[] = []
  afterEach(async () => {
    for (const { engine, database } of running.splice(0)) {
      await engine.stop(500)
      await database.close()
    }
  })
  return {
    async start(definitions: readonly AnyJobDefinition[], options: Partial<EngineOptions> = {}) {
      const signals = new Signals()
      // A pool of its own, as a worker thread has.
      const database = new Database({ url: db.url, max: 6, applicationName: 'test engine', preparedStatements: true })
      const engine = new Engine({ database, definitions, logger: silent, signal: signals.push, ...options })
      running.push({ engine, database })
      await engine.start()
      return { engine, signals, database }
    },
  }
}

export const counted = z.object({ n: z.number().int() })

/** A job type that may be tried often and at once, unless the test says otherwise. */
export function testJob(type: string, own: Partial<JobDefinition<{ n: number }>> = {}): JobDefinition<{ n: number }> {
  return defineJob<{ n: number }>({
    type,
    class: 'FOLLOW_UP',
    payload: counted,
    timeoutMs: 20_000,
    idempotency: 'A test counts what happened.',
    policy: { delaysMs: [0] },
    displayName: ({ n }) => `test ${n}`,
    ...(own.runMany === undefined ? { run: async () => succeeded() } : {}),
    ...own,
  })
}

type Own = Partial<Omit<EnqueueRequest<{ n: number }>, 'payload'>>

/** Enqueues one job per number; answers with their ids. */
export async function enqueueNumbers(
  db: TestDatabase,
  definition: JobDefinition<{ n: number }>,
  numbers: readonly number[],
  own: Own | ((n: number) => Own) = {},
): Promise<string[]> {
  const jobs = await enqueueMany(
    db.database,
    definition,
    numbers.map((n) => ({
      tenantId: TENANT,
      payload: { n },
      correlationId: `corr-${n}`,
      triggeredBy: 'tester',
      ...(typeof own === 'function' ? own(n) : own),
    })),
  )
  return jobs.map((job) => job.jobId)
}

export const range = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

export interface FinishedRow {
  readonly id: string
  readonly status: string
  readonly attempt: number
  readonly failure_class: string | null
  readonly code: string | null
  readonly message: string | null
  readonly reason: string | null
  readonly output: unknown
  readonly claim_epoch: number
}

export async function finished(db: TestDatabase, id: string): Promise<FinishedRow | undefined> {
  return (await db.pool.query<FinishedRow>('select * from job_finished where id = $1', [id])).rows[0]
}

export async function waiting(db: TestDatabase, id: string) {
  const { rows } = await db.pool.query(
    'select *, extract(epoch from due - now()) * 1000 as due_in_ms from job where id = $1',
    [id],
  )
  return rows[0] as
    | {
        status: string
        attempt: number
        lost: number
        claim_epoch: number
        due_in_ms: string
        worker_id: string | null
      }
    | undefined
}

/** Makes a waiting job due now: tests move the column, not a clock. */
export const makeDue = (db: TestDatabase, id: string) =>
  db.pool.query('update job set due = now() where id = $1 and worker_id is null', [id])

/** Lets a worker's lease lapse, as if its process had been suspended. */
export const lapse = (db: TestDatabase, workerId: string) =>
  db.pool.query(`update job_worker set lease_until = now() - interval '1 second' where id = $1`, [workerId])
