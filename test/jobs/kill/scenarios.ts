import { keepWorkers } from '../../../src/jobs/lease.ts'
import { keepTablesSmall } from '../../../src/jobs/periodic/retention.ts'
import { actOnJob, cancelJobs, JobActRefusedError, JobRegistry } from '../../../src/jobs/index.ts'
import { OTHER_TENANT, TENANT } from '../support.ts'
import { type Act, batchJob, dependentJob, jobDefinitions, limitedJob, quietJob, toldJob, want } from './domain.ts'
import { arrangeOld, stillThere } from './old.ts'
import { cancelAll, type Goal, type Stage } from './stage.ts'
import { Victim } from './victim.ts'

/** Something that a process does and may die of at any statement. */
export interface Scenario {
  readonly name: string
  /** Its engines fire a schedule. */
  readonly scheduled?: boolean
  /** Makes what the process finds. */
  arrange(stage: Stage): Promise<unknown>
  /** What the process does, until it has done all of it. Only what goes through the victim can die. */
  act(stage: Stage, victim: Victim): Promise<void>
  readonly goal?: Goal
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

/** One firing of the run's schedule and its job are over. */
const fired: Goal = async ({ db, run }) =>
  (await db.pool.query('select from job_slot where schedule = $1 and job_id is not null limit 1', [run])).rowCount === 1

const BY = { actor: 'olga', reason: 'The service is back.', correlationId: 'kill' }

const NEVER = new AbortController().signal

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
    name: 'one at a time',
    arrange: ({ db, run }) =>
      want(db.database, run, limitedJob, [of('DO'), of('THROW', 'DO'), elsewhere('STEP'), elsewhere('PLAIN')]),
    act: work,
  },
  {
    name: 'a service that fails and comes back',
    arrange: ({ db, run }) =>
      want(db.database, run, dependentJob, [of('THROW', 'DO'), of('THROW', 'DO'), elsewhere('DO'), elsewhere('PLAIN')]),
    act: work,
  },
  {
    name: 'an operator has a failed job tried again',
    async arrange(stage) {
      await want(stage.db.database, stage.run, toldJob, [of('FAIL', 'DO')])
      const before = new Victim(stage)
      await before.start()
      await before.untilOver()
      await before.end()
    },
    async act({ db, run }, victim) {
      const { rows } = await db.pool.query('select id from job_finished where correlation_id = $1', [run])
      const parts = { database: victim.database, registry: new JobRegistry(jobDefinitions) }
      try {
        await victim.twice(async () => void (await actOnJob(parts, 'RETRY', rows[0].id, BY)))
      } catch (error) {
        // The first time it was done, and only the answer was lost.
        if (!(error instanceof JobActRefusedError)) throw error
      }
    },
    async check({ db, run }) {
      const { rows } = await db.pool.query(
        `select id, (select count(*)::int from job_act where job_id = f.id and refusal is null) as acts,
           (select count(*)::int from job_event e where e.job_id = f.id and e."from" = 'FAILED') as events
         from job_finished f where correlation_id = $1`,
        [run],
      )
      return rows
        .filter(({ acts, events }) => acts !== events || acts > 1)
        .map(({ id, acts, events }) => `${id} has ${acts} acts in the audit and ${events} in its history`)
    },
  },
  {
    name: 'a schedule fires',
    scheduled: true,
    arrange: async () => {},
    async act(_, victim) {
      await victim.start()
      await victim.untilOver(fired)
    },
    goal: fired,
  },
  {
    name: 'retention of what is past its time',
    arrange: ({ db, run }) => arrangeOld(db, run),
    act: (_, victim) => victim.twice(async () => void (await keepTablesSmall(victim.database, NEVER))),
    async check({ db, run }) {
      // The next hour's run does what this one did not come to.
      await keepTablesSmall(db.database, NEVER)
      return stillThere(db, run)
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
