import { expect, test } from 'vitest'
import { type AnyJobDefinition, succeeded } from '../../src/jobs/index.ts'
import { useDatabase } from '../harness/database.ts'
import { claimerOf as claimerIn, tenant } from './gates-support.ts'
import { enqueueNumbers, finished, lapse, range, testJob, useEngines, waiting } from './support.ts'

const db = useDatabase()
const engines = useEngines(db)

const claimerOf = (definitions: readonly AnyJobDefinition[]) => claimerIn(db, definitions)

test('fact 7 one tenant’s backlog delays another tenant’s single job by one round, whatever its size', async () => {
  const job = testJob('test.fair')
  await enqueueNumbers(db, job, range(2_000), { tenantId: tenant(0) })
  await enqueueNumbers(db, job, range(50), (n) => ({ tenantId: tenant(n + 1) }))
  const { claim } = await claimerOf([job])
  const first = await claim(100)
  expect(new Set(first.map((row) => row.tenantId)).size).toBe(51)
  // The rest of the round goes to whoever has more.
  const second = await claim(100)
  expect(second).toHaveLength(100)
  expect(new Set(second.map((row) => row.tenantId))).toEqual(new Set([tenant(0)]))
})

test('fact 7 jobs that are worked off together come from fewer tenants at a time, and a round takes four claims at most', async () => {
  const job = testJob('test.together', { runMany: async (jobs) => jobs.map(() => succeeded()) })
  for (const n of range(19)) await enqueueNumbers(db, job, range(60), { tenantId: tenant(n) })
  await enqueueNumbers(db, job, [1], { tenantId: tenant(99) })
  const { claim } = await claimerOf([job])
  const tenants = new Set<string>()
  for (let round = 1; round <= 4; round++) {
    const jobs = await claim(200)
    const ofTenant = (id: string) => jobs.filter(({ tenantId }) => tenantId === id).length
    for (const { tenantId } of jobs) tenants.add(tenantId)
    // An equal share would be ten.
    expect(Math.max(...[...tenants].map(ofTenant))).toBe(40)
  }
  expect(tenants).toContain(tenant(99))
  expect(tenants.size).toBe(20)
})

test('pain 29 within a tenant the higher priority comes first, and not before it is due', async () => {
  const job = testJob('test.priority')
  const [low] = await enqueueNumbers(db, job, [1], { priority: -5 })
  const [high] = await enqueueNumbers(db, job, [2], { priority: 10 })
  const [later] = await enqueueNumbers(db, job, [3], { priority: 30_000, delayMs: 60_000 })
  const [normal] = await enqueueNumbers(db, job, [4])
  const { claim } = await claimerOf([job])
  const order = [await claim(1), await claim(1), await claim(1), await claim(1)].map((rows) => rows[0]?.id)
  expect(order).toEqual([high, normal, low, undefined])
  expect(await waiting(db, later!)).toMatchObject({ status: 'SCHEDULED' })
})

test('J18 pain 36 the attempt counts when it is claimed', async () => {
  const job = testJob('test.counted')
  const [id] = await enqueueNumbers(db, job, [1])
  const { claim, workerId } = await claimerOf([job])
  expect(await claim(5)).toMatchObject([{ id, attempt: 1, claimEpoch: 1, maxAttempts: 3 }])
  expect(await waiting(db, id!)).toMatchObject({ status: 'PROCESSING', attempt: 1, worker_id: workerId })
})

test('a worker whose lease has lapsed claims nothing', async () => {
  const job = testJob('test.lapsed')
  await enqueueNumbers(db, job, [1])
  const { claim, workerId } = await claimerOf([job])
  await lapse(db, workerId)
  expect(await claim(5)).toEqual([])
})

test('J61 J105 eight claimers at once never take one job twice and leave none', async () => {
  const job = testJob('test.race')
  const ids = await enqueueNumbers(db, job, range(1_500), (n) => ({ tenantId: tenant(n % 7) }))
  const claimers = await Promise.all(range(8).map(() => claimerOf([job])))
  const taken = await Promise.all(
    claimers.map(async ({ claim }) => {
      const mine: string[] = []
      for (let rows = await claim(40); rows.length > 0; rows = await claim(40)) mine.push(...rows.map((row) => row.id))
      return mine
    }),
  )
  const all = taken.flat()
  expect(new Set(all).size).toBe(all.length)
  // Whoever found only locked rows stopped early; what is left is taken by the next.
  const last = await claimerOf([job])
  for (let rows = await last.claim(100); rows.length > 0; rows = await last.claim(100))
    all.push(...rows.map((r) => r.id))
  expect(all.toSorted()).toEqual(ids.toSorted())
})

test('more lanes than one look takes: each of them is served, also those far behind', async () => {
  const job = testJob('test.lanes')
  // A thousand tenants whose jobs are not due yet, and one in the middle that has one now.
  await enqueueNumbers(db, job, range(1_200), (n) => ({ tenantId: tenant(10_000 + n), delayMs: 3_600_000 }))
  const [due] = await enqueueNumbers(db, job, [1], { tenantId: tenant(10_700) })
  const { claim, claimer } = await claimerOf([job])
  expect(await claim(10)).toMatchObject([{ id: due }])
  const { nextDueInMs } = await claimer.claim({ jobs: 10, atOnce: 10 })
  expect(nextDueInMs).toBeGreaterThan(3_000_000)
})

test('fact 6 the mark of a lane passes over nothing for longer than a look', async () => {
  const job = testJob('test.mark')
  await enqueueNumbers(db, job, range(200))
  const { claim, claimer } = await claimerOf([job])
  expect(await claim(100)).toHaveLength(100)
  // Due before everything that is left: what a slow transaction enqueues, or a worker gives back.
  const [early] = await enqueueNumbers(db, job, [7], { runAt: new Date(Date.now() - 3_600_000) })
  expect((await claim(50)).some((row) => row.id === early)).toBe(false)
  claimer.hint()
  await expect.poll(async () => (await claim(5)).some((row) => row.id === early)).toBe(true)
})

test('idea 18 a worker claims only payloads of versions that it knows, and what is newer hides nothing behind it', async () => {
  const old = testJob('test.versions')
  const upcast = (payload: unknown) => payload
  const renewed = testJob('test.versions', { payloadVersion: 2, upcasters: { 1: upcast } })
  const [first] = await enqueueNumbers(db, renewed, [1], { priority: 10 })
  const [second, third] = await enqueueNumbers(db, old, [2, 3], (n) => ({ priority: n === 2 ? 10 : 0 }))
  const [other] = await enqueueNumbers(db, testJob('test.versions_beside'), [4])
  const { claim, claimer } = await claimerOf([old, testJob('test.versions_beside')])
  const taken: string[] = []
  for (const _ of range(4)) taken.push(...(await claim(5)).map(({ id }) => id))
  expect(taken.toSorted()).toEqual([second!, third!, other!].toSorted())
  // It is due, and not for us: an answer, not a loop.
  expect(await claimer.claim({ jobs: 5, atOnce: 5 })).toEqual({ gated: [], jobs: [], nextDueInMs: null })
  const newer = await claimerOf([renewed])
  expect(await newer.claim(5)).toMatchObject([{ id: first, payloadVersion: 2 }])
})

test('idea 18 J33 an engine of the older release leaves newer payloads to the newer one and is idle meanwhile', async () => {
  const old = testJob('test.deploy')
  const renewed = testJob('test.deploy', { payloadVersion: 2, upcasters: { 1: (payload: unknown) => payload } })
  const ids = await enqueueNumbers(db, renewed, range(3))
  const before = await engines.start([old])
  await before.signals.first('IDLE')
  for (const id of ids) expect(await waiting(db, id)).toMatchObject({ status: 'SCHEDULED', attempt: 0 })
  const after = await engines.start([renewed])
  await after.signals.ended(3)
  expect(before.signals.of('CLAIMED')).toEqual([])
})

test('fact 8 J33 a type that nobody here knows waits, is reported, costs nothing, and runs once somebody knows it', async () => {
  const unknown = testJob('test.unknown')
  const known = testJob('test.known')
  const [stranger] = await enqueueNumbers(db, unknown, [1])
  const [friend] = await enqueueNumbers(db, known, [1])
  const reported: unknown[] = []
  const old = await engines.start([known], { onUnknownTypes: (types) => reported.push(...types) })
  await old.signals.first('ENDED', (signal) => signal.jobId === friend)
  await old.signals.first('UNKNOWN_TYPES', (signal) => signal.types.includes('test.unknown'))
  expect(reported).toContainEqual({ type: 'test.unknown', waiting: 1 })
  expect(await waiting(db, stranger!)).toMatchObject({ status: 'SCHEDULED', attempt: 0 })
  await old.engine.stop(500)
  const knowing = await engines.start([known, unknown])
  await knowing.signals.first('ENDED', (signal) => signal.jobId === stranger)
  expect(await finished(db, stranger!)).toMatchObject({ status: 'SUCCEEDED' })
})

test('pain 9 ids, epochs and counters beyond 2^31 do not matter', async () => {
  const job = testJob('test.large')
  const [id] = await enqueueNumbers(db, job, [2 ** 40])
  await db.pool.query('update job set claim_epoch = 2147483646 where id = $1', [id])
  const { signals } = await engines.start([job])
  await signals.first('ENDED')
  expect(await finished(db, id!)).toMatchObject({ claim_epoch: 2_147_483_647 })
})
