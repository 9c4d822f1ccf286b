import { expect, test } from 'vitest'
import { FIND_LANES } from '../../src/jobs/sql/find-lanes.ts'
import { succeeded } from '../../src/jobs/index.ts'
import { useDatabase } from '../harness/database.ts'
import { claimerOf, declare, pause, resume, tenant } from './gates-support.ts'
import { enqueueNumbers, finished, gate, range, testJob, useEngines, waiting } from './support.ts'

/** What another thread of events does, whenever the machine gets to it. */
const SOON = { timeout: 15_000 }

const db = useDatabase()
const engines = useEngines(db)

test('pain 6 nothing of a paused type is claimed from the moment of its commit, not even from remembered lanes', async () => {
  const paused = testJob('test.paused')
  const other = testJob('test.not_paused')
  await declare(db, paused, other)
  await enqueueNumbers(db, paused, range(40))
  await enqueueNumbers(db, other, range(4), { tenantId: tenant(1) })
  const { claim } = await claimerOf(db, [paused, other])
  // The lanes are known from now on, and both have more.
  expect(await claim(2)).toHaveLength(2)
  await pause(db, paused.type)
  const rest = [...(await claim(20)), ...(await claim(20))]
  expect(rest.map((row) => row.type)).toEqual(Array(3).fill(other.type))
  await resume(db, paused.type)
  expect(await claim(50)).toHaveLength(39)
})

test('pain 6 the backlog of a paused type costs nothing, however large and however many tenants have it', async () => {
  const job = testJob('test.paused_backlog')
  await declare(db, job)
  await enqueueNumbers(db, job, range(3_000), (n) => ({ tenantId: tenant(n % 1_000) }))
  const buffers = async () => {
    const text = FIND_LANES.text
    const { rows } = await db.pool.query(`explain (analyze, buffers, format json) ${text}`, [
      [job.type],
      [1],
      '00000000-0000-0000-0000-000000000000',
      500,
    ])
    return rows[0]['QUERY PLAN'][0].Plan['Shared Hit Blocks'] as number
  }
  const flowing = await buffers()
  await pause(db, job.type)
  expect(flowing).toBeGreaterThan(1_000)
  expect(await buffers()).toBeLessThan(20)
})

test('a pause lets what runs go on, and a resume sets the rest going', async () => {
  const begun = gate()
  const go = gate()
  const job = testJob('test.pause_running', { run: async () => (begun.open(), await go.promise, succeeded()) })
  await declare(db, job)
  const [first] = await enqueueNumbers(db, job, [1])
  const { engine, signals } = await engines.start([job])
  await begun.promise
  await pause(db, job.type)
  const [second] = await enqueueNumbers(db, job, [2])
  const before = signals.of('IDLE').length
  engine.wake()
  await expect.poll(() => signals.of('IDLE').length, SOON).toBeGreaterThan(before)
  expect(await waiting(db, second!)).toMatchObject({ status: 'SCHEDULED', attempt: 0 })
  go.open()
  await signals.first('ENDED', (signal) => signal.jobId === first)
  await resume(db, job.type)
  await signals.first('ENDED', (signal) => signal.jobId === second)
  expect(await finished(db, second!)).toMatchObject({ status: 'SUCCEEDED', attempt: 1 })
})

test('a type that no process has declared is not paused', async () => {
  const job = testJob('test.undeclared')
  const [id] = await enqueueNumbers(db, job, [1])
  const { claim } = await claimerOf(db, [job])
  expect(await claim(5)).toMatchObject([{ id }])
})
