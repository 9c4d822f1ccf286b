import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { JobRegistry, readTypes, type AnyJobDefinition } from '../../src/jobs/index.ts'
import { keepWorkers } from '../../src/jobs/lease.ts'
import { declareTypes } from '../../src/jobs/types/declare-types.ts'
import { useDatabase } from '../harness/database.ts'
import { range, testJob, useEngines } from './support.ts'

const db = useDatabase()
const engines = useEngines(db)

/** As a worker of a release with these types does when it starts. */
async function start(...definitions: readonly AnyJobDefinition[]): Promise<void> {
  const workerId = randomUUID()
  await keepWorkers(db.database, [{ id: workerId, slot: 0 }], 60_000)
  await declareTypes(db.database, new JobRegistry(definitions), workerId)
}
const declared = async (type: string) => (await readTypes(db.database)).find((row) => row.type === type)

describe('J17 J78 what a release declares of its job types', () => {
  test('J17 J22 J25 J78 is written down when an engine starts, its worker with it', async () => {
    const type = testJob('declare.whole', {
      payloadVersion: 2,
      upcasters: { 1: (payload) => payload },
      policy: {
        maxAttempts: 5,
        delaysMs: [1_000],
        jitter: 0,
        motivation: 'The service is often away.',
        name: 'patient',
      },
      limits: { running: 3, runningPerTenant: 1, ratePerTenant: { jobs: 10, perMs: 1_000 } },
      dependency: 'a.service',
    })
    await engines.start([type])
    expect(await declared('declare.whole')).toMatchObject({
      class: 'FOLLOW_UP',
      payloadVersion: 2,
      idempotency: 'A test counts what happened.',
      motivation: 'The service is often away.',
      dependency: 'a.service',
      maxRunning: 3,
      maxRunningPerTenant: 1,
      rateJobs: 10,
      ratePerMs: 1_000,
      pausedAt: null,
      workers: 1,
      policy: { name: 'patient', version: 1, maxAttempts: 5, delaysMs: [1_000], jitter: 0, timeoutMs: 20_000 },
    })
  })

  test('a worker whose row was cleared away and made anew says again what it knows', async () => {
    const type = testJob('declare.again')
    const { engine } = await engines.start([type], { leaseMs: 3_000 })
    await db.pool.query('delete from job_worker where id = $1', [engine.workerId])
    await keepWorkers(db.database, [{ id: engine.workerId, slot: 0 }], 60_000)
    expect(await declared(type.type)).toMatchObject({ workers: 0 })
    await expect.poll(() => declared(type.type), { timeout: 10_000 }).toMatchObject({ workers: 1 })
  })

  test('J26 its policy gets a new version when its content changes, and the old one back with the old content', async () => {
    const of = (maxAttempts: number) => testJob('declare.version', { policy: { maxAttempts, delaysMs: [1_000] } })
    const versions: number[] = []
    for (const maxAttempts of [1, 2, 3, 2]) {
      await start(of(maxAttempts))
      versions.push((await declared('declare.version'))!.policy.version)
    }
    expect(versions).toEqual([1, 2, 3, 2])
  })

  test('J105 many starts at once number their policies one after the other', async () => {
    const types = range(6).map((n) => testJob(`declare.at_once_${n}`, { policy: { name: 'shared', delaysMs: [n] } }))
    await Promise.all(range(12).map((n) => start(...(n % 2 === 0 ? types : types.toReversed()))))
    const { rows } = await db.pool.query(
      `select version from job_policy_version where name = 'shared' order by version`,
    )
    expect(rows.map(({ version }) => version)).toEqual([1, 2, 3, 4, 5, 6])
  })

  test('J75 a pause stays, and what is the same is not written again', async () => {
    const type = testJob('declare.paused')
    await start(type)
    await db.pool.query(`update job_type set paused_at = now(), paused_by = 'anna' where type = $1`, [type.type])
    const before = await db.pool.query('select xmin::text, * from job_type where type = $1', [type.type])
    await start(type)
    expect((await db.pool.query('select xmin::text, * from job_type where type = $1', [type.type])).rows).toEqual(
      before.rows,
    )
    await start({ ...type, timeoutMs: 5 })
    expect(await declared('declare.paused')).toMatchObject({ pausedBy: 'anna', policy: { timeoutMs: 5, version: 2 } })
  })

  test('J33 a release that knows only an older payload leaves the newer one’s word, and does not count as its worker', async () => {
    const old = testJob('declare.older')
    await start({ ...old, payloadVersion: 2, upcasters: { 1: (payload: unknown) => payload } })
    await start(old)
    expect(await declared('declare.older')).toMatchObject({ payloadVersion: 2, workers: 1 })
  })

  test('J78 a dependency that the payload decides is no property of the type', async () => {
    await start(testJob('declare.depends', { dependency: ({ n }) => `host-${n}` }))
    expect((await declared('declare.depends'))!.dependency).toBeNull()
  })
})
