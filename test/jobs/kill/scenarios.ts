import { setTimeout as pause } from 'node:timers/promises'
import type { TestDatabase } from '../../harness/database.ts'
import { keepWorkers } from '../../../src/jobs/lease.ts'
import { cancelJobs } from '../../../src/jobs/index.ts'
import { OTHER_TENANT, TENANT } from '../support.ts'
import { type Act, batchJob, quietJob, toldJob, want } from './domain.ts'
import type { Victim } from './victim.ts'

/** One run of a scenario: the database as others see it, and the mark that all its jobs carry. */
export interface Stage {
  readonly db: TestDatabase
  readonly run: string
}

/** Something that a process does and may die of at any statement. */
export interface Scenario {
  readonly name: string
  /** Makes what the process finds. */
  arrange(stage: Stage): Promise<unknown>
  /** What the process does, until it has done all of it. Only what goes through the victim can die. */
  act(stage: Stage, victim: Victim): Promise<void>
  /** What must be true besides the invariants of all jobs. */
  check?(stage: Stage): Promise<string[]>
}

const of = (...plan: Act[]) => ({ tenantId: TENANT, plan })
const elsewhere = (...plan: Act[]) => ({ tenantId: OTHER_TENANT, plan })

/** An engine that works until all jobs of the run are over, and stops. */
async function work(_: Stage, victim: Victim): Promise<void> {
  await victim.start()
  await victim.untilOver()
}

/** As if a worker had claimed the run's jobs; dead when its lease is over. */
async function claimedBy(worker: string, { db, run }: Stage, own = ''): Promise<void> {
  await db.pool.query(
    `update job set status = 'PROCESSING', worker_id = $2, claim_epoch = 1, attempt = 1,
       claimed_at = now() - interval '10 seconds' ${own} where correlation_id = $1`,
    [run, worker],
  )
}

const DEAD = '0193a000-0000-7000-8000-00000000dead'

export const scenarios: readonly Scenario[] = [
  {
    name: 'a caller enqueues',
    arrange: async () => {},
    async act({ run }, victim) {
      // Who gets no answer asks again, with the same keys.
      const enqueue = (keys: readonly string[]) =>
        victim.twice(() =>
          victim.database.transaction(TENANT, async (tx) => {
            const keyed = keys.map((key) => ({ ...of('DO'), idempotencyKey: `${run} ${key}` }))
            await want(tx, run, toldJob, keyed)
          }),
        )
      await victim.database
        .transaction(TENANT, async (tx) => void (await want(tx, run, quietJob, [of('PLAIN'), of('DO')])))
        .catch((error: unknown) => victim.expectLost(error))
      await enqueue(['a', 'b'])
      await enqueue(['b', 'c'])
    },
  },
  {
    name: 'endings that nobody is told of',
    arrange: ({ db, run }) => want(db.database, run, quietJob, [of('PLAIN'), of('PLAIN'), of('OUTPUT'), of('FAIL')]),
    act: work,
  },
  {
    name: 'endings that the domain is told of',
    arrange: ({ db, run }) => want(db.database, run, toldJob, [of('FAIL'), of('GONE'), elsewhere('PLAIN')]),
    act: work,
  },
  {
    name: 'work in transactions',
    arrange: ({ db, run }) => want(db.database, run, toldJob, [of('DO'), of('STEP'), elsewhere('STEP')]),
    act: work,
  },
  {
    name: 'work for a whole batch',
    arrange: ({ db, run }) =>
      want(db.database, run, batchJob, [of('DO'), of('DO'), of('FAIL'), elsewhere('DO'), elsewhere('THROW', 'DO')]),
    act: work,
  },
  {
    name: 'attempts that are made again',
    arrange: ({ db, run }) =>
      want(db.database, run, toldJob, [
        of('THROW', 'DO'),
        of('LATER', 'STEP'),
        elsewhere('UNDO', 'PLAIN'),
        of('POSTPONE'),
      ]),
    act: work,
  },
  {
    name: 'attempts that are used up',
    arrange: ({ db, run }) => want(db.database, run, toldJob, [of('THROW'), elsewhere('LATER')]),
    act: work,
  },
  {
    name: 'a cancel of what waits',
    arrange: ({ db, run }) => want(db.database, run, toldJob, [of('DO'), of('DO'), of('DO')]),
    async act({ db, run }, victim) {
      const { rows } = await db.pool.query('select id from job where correlation_id = $1 order by id limit 2', [run])
      const jobIds = rows.map((row) => row.id as string)
      await victim.twice(() =>
        victim.database.transaction(
          TENANT,
          async (tx) => void (await cancelJobs(tx, { tenantId: TENANT, jobIds, reason: 'enough', actor: 'anna' })),
        ),
      )
    },
  },
  {
    name: 'a cancel of what runs',
    arrange: ({ db, run }) => want(db.database, run, toldJob, [of('WAIT'), of('DO')]),
    async act(stage, victim) {
      await victim.start()
      await victim.begun()
      await cancelAll(stage)
      await victim.untilOver()
    },
  },
  {
    name: 'the rescue of what another left',
    async arrange(stage) {
      const { db, run } = stage
      await want(db.database, run, quietJob, [of('PLAIN')])
      await want(db.database, run, toldJob, [of('DO'), elsewhere('DO')])
      await keepWorkers(db.database, [{ id: DEAD, slot: 0 }], 1)
      await claimedBy(DEAD, stage)
    },
    act: work,
  },
  {
    name: 'a claim that was never heard of',
    async arrange(stage) {
      await want(stage.db.database, stage.run, toldJob, [of('DO'), of('STEP')])
    },
    async act(stage, victim) {
      await claimedBy(victim.workerId, stage)
      await work(stage, victim)
    },
  },
  {
    name: 'a stop in the middle',
    arrange: ({ db, run }) => want(db.database, run, toldJob, [of('LINGER'), of('LINGER'), of('DO')]),
    async act(_, victim) {
      await victim.start({ concurrency: 2 })
      await victim.begun()
      await victim.stop(400)
    },
  },
]

/** Cancels what would otherwise run for ever. */
export async function cancelAll({ db, run }: Stage): Promise<void> {
  const { rows } = await db.pool.query(
    `select tenant_id, array_agg(id) as ids from job
     where correlation_id = $1 and payload->'plan' ? 'WAIT' and cancel_requested_at is null group by 1`,
    [run],
  )
  for (const { tenant_id: tenantId, ids: jobIds } of rows)
    await cancelJobs(db.database, { tenantId, jobIds, reason: 'enough', actor: 'anna' })
}

/** Makes time pass for a run's jobs: what waits is due, and a claim that nobody speaks of is an old one. */
async function hurry({ db, run }: Stage): Promise<void> {
  await db.pool.query(
    `update job set due = least(due, now()),
       claimed_at = case when claimed_at < now() - interval '200 ms' then claimed_at - interval '10 seconds' else claimed_at end
     where id in (
       select id from job where correlation_id = $1
         and (worker_id is null and due > now() or claimed_at between now() - interval '5 seconds' and now() - interval '200 ms')
       for update skip locked)`,
    [run],
  )
}

/** Lets time pass until all jobs of the run are over; false when `untilMs` are. */
export async function over(stage: Stage, wake: () => void, untilMs: number): Promise<boolean> {
  const started = performance.now()
  for (;;) {
    const { rows } = await stage.db.pool.query('select from job where correlation_id = $1 limit 1', [stage.run])
    if (rows.length === 0) return true
    if (performance.now() - started > untilMs) return false
    await hurry(stage)
    wake()
    await pause(4)
  }
}
