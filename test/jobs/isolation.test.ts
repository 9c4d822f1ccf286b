import { afterEach, expect, test } from 'vitest'
import { type JobResult, succeeded } from '../../src/jobs/index.ts'
import { useDatabase } from '../harness/database.ts'
import { FIND_SUSPECTS } from '../../src/jobs/sql/find-suspects.ts'
import { gatedJob, poisonJob } from './fixtures/definitions.ts'
import { claimerOf, declare } from './gates-support.ts'
import { enqueueNumbers, finished, gate, range, testJob, useEngines, waiting } from './support.ts'
import { DEFINITIONS, useEffects, useProcesses } from './threads-support.ts'

/** What another thread of events does, whenever the machine gets to it. */
const SOON = { timeout: 20_000 }

const db = useDatabase()
const engines = useEngines(db)
const processes = useProcesses(db)
const effects = useEffects(db)

afterEach(() => db.pool.query('delete from job'))

const afterZero = (n: number): number => n + 1

/** Time for a few claims, were there any: each takes one of these round trips. */
async function turns(): Promise<void> {
  for (const _ of range(30)) await db.pool.query('select 1')
}

/** As if the jobs had been running when a worker died, and were due again. */
const suspected = (ids: readonly string[]) =>
  db.pool.query(
    `update job set status = 'RETRY_SCHEDULED', lost = 1, attempt = 1, due = now() - interval '1 second' where id = any($1)`,
    [ids],
  )

test('idea 7 pain 36 an ordinary claim takes no suspect, and a suspect hides nothing behind it', async () => {
  const job = testJob('test.passed_over')
  const [suspect, urgent, later] = await enqueueNumbers(db, job, range(3), (n) => ({ priority: n === 2 ? -5 : 0 }))
  await suspected([suspect!])
  const { claim } = await claimerOf(db, [job])
  expect((await claim(5)).map(({ id }) => id)).toEqual([urgent])
  // The suspect's lane looks due once more and gives nothing; the next look takes the lesser lane along.
  expect([...(await claim(5)), ...(await claim(5))].map(({ id }) => id)).toEqual([later])
  expect(await claim(5)).toEqual([])
  expect(await waiting(db, suspect!)).toMatchObject({ status: 'RETRY_SCHEDULED', lost: 1 })
})

test('an engine runs one suspect at a time and claims nothing beside it', async () => {
  let now = 0
  const together: number[] = []
  const first = gate()
  const go = gate()
  const job = testJob('test.alone', {
    run: async ({ n }): Promise<JobResult> => {
      now++
      if (n === 0) {
        together.push(now)
        first.open()
        await go.promise
        together.push(now)
      }
      now--
      return succeeded()
    },
  })
  const suspects = await enqueueNumbers(db, job, [0, 0, 0])
  await suspected(suspects)
  const { engine, signals } = await engines.start([job])
  await first.promise
  const ordinary = await enqueueNumbers(db, job, range(20).map(afterZero))
  engine.wake()
  await turns()
  expect(engine.held).toBe(1)
  go.open()
  await signals.ended(23)
  expect(together).toEqual([1, 1, 1, 1, 1, 1])
  for (const id of [...suspects, ...ordinary]) expect(await finished(db, id)).toMatchObject({ status: 'SUCCEEDED' })
})

test('a busy engine stops claiming, waits for what it holds, and then runs the suspect', async () => {
  const begun = gate()
  const go = gate()
  const order: number[] = []
  const job = testJob('test.drains', {
    run: async ({ n }) => {
      order.push(n)
      if (n === 0) {
        begun.open()
        await go.promise
      }
      return succeeded()
    },
  })
  await enqueueNumbers(db, job, [0])
  const { engine, signals } = await engines.start([job], { concurrency: 2 })
  await begun.promise
  // What the worker says it knows.
  await db.pool.query('update job_worker set types = $2 where id = $1', [engine.workerId, { [job.type]: 1 }])
  const [suspect] = await enqueueNumbers(db, job, [1], { delayMs: 60_000 })
  await suspected([suspect!])
  await signals.first('ISOLATING')
  // A slot is free, and yet nothing is claimed: neither what is ordinary nor the suspect.
  await enqueueNumbers(db, job, [2, 3])
  engine.wake()
  await turns()
  expect(order).toEqual([0])
  go.open()
  await signals.ended(4)
  expect(order.slice(0, 2)).toEqual([0, 1])
  expect(await finished(db, suspect!)).toMatchObject({ status: 'SUCCEEDED', attempt: 2 })
}, 40_000)

test('of engines that are all at work only one stops for a suspect', async () => {
  const job = testJob('test.chosen')
  const [id] = await enqueueNumbers(db, job, [1])
  await suspected([id!])
  await db.pool.query('delete from job_worker')
  const workers = await Promise.all(range(6).map(() => claimerOf(db, [job])))
  await db.pool.query('update job_worker set types = $1', [{ [job.type]: 1 }])
  const answers = async (idle: boolean) => {
    const found = workers.map(({ workerId }) => db.database.run(FIND_SUSPECTS, [[job.type], [1], workerId, idle]))
    return (await Promise.all(found)).map((rows) => rows.length)
  }
  expect((await answers(false)).toSorted()).toEqual([0, 0, 0, 0, 0, 1])
  expect(await answers(true)).toEqual([1, 1, 1, 1, 1, 1])
  // The chosen one dies: another one is chosen.
  const chosen = workers[(await answers(false)).indexOf(1)]!.workerId
  await db.pool.query(`update job_worker set lease_until = now() - interval '1 second' where id = $1`, [chosen])
  expect((await answers(false)).toSorted()).toEqual([0, 0, 0, 0, 0, 1])
})

test('a suspect keeps to the limits of its type, and no engine stops for one that may not run', async () => {
  const job = testJob('test.suspect_limited', { limits: { running: 1 } })
  await declare(db, job)
  const [running, suspect] = await enqueueNumbers(db, job, range(2))
  await suspected([suspect!])
  const { claim } = await claimerOf(db, [job])
  expect((await claim(1)).map(({ id }) => id)).toEqual([running])
  const { signals } = await engines.start([job])
  await expect.poll(() => signals.of('IDLE').length, SOON).toBeGreaterThan(8)
  expect(await waiting(db, suspect!)).toMatchObject({ status: 'RETRY_SCHEDULED' })
  await db.pool.query('delete from job where id = $1', [running])
  await signals.first('ENDED', (signal) => signal.jobId === suspect)
})

test('idea 7 pain 36 a job that kills its workers: whoever was lost with it comes through, and it alone is given up', async () => {
  const open = await effects.closeGate()
  await processes.start({ threads: 1, definitionsModule: DEFINITIONS })
  const innocents = await enqueueNumbers(db, gatedJob, range(5).map(afterZero))
  await expect.poll(() => effects.atTheGate(), SOON).toBeGreaterThan(0)
  const [pill] = await enqueueNumbers(db, poisonJob, [0])
  const lost = async () =>
    (await db.pool.query(`select job_id from job_event where failure_class = 'LOST'`)).rows.map(({ job_id }) => job_id)
  await expect.poll(lost, SOON).toContain(pill)
  await open()
  const ended = async () =>
    (await db.pool.query('select from job_finished where id = any($1)', [[pill, ...innocents]])).rowCount
  await expect.poll(ended, { timeout: 60_000 }).toBe(6)
  // It took its first worker, with company, and one more than it was allowed to: `maxLost` is 1.
  const losses = await lost()
  expect(losses.filter((id) => id === pill)).toHaveLength(2)
  expect(await finished(db, pill!)).toMatchObject({ status: 'FAILED', failure_class: 'LOST' })
  for (const id of innocents) {
    expect(await finished(db, id)).toMatchObject({ status: 'SUCCEEDED', attempt: 2 })
    expect(losses.filter((other) => other === id)).toHaveLength(1)
  }
}, 90_000)
