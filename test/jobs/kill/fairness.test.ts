import { beforeAll, expect, test } from 'vitest'
import { useDatabase } from '../../harness/database.ts'
import { Engine } from '../../../src/jobs/index.ts'
import { range, silent } from '../support.ts'
import { jobDefinitions, quietJob, want } from './domain.ts'
import { makeStage, makeTables } from './kill-at.ts'
import { over } from './stage.ts'
import { WiredDatabase } from './wire.ts'

const db = useDatabase()
beforeAll(() => makeTables(db))

const tenant = (n: number) => `0193a000-0000-7000-8000-0000000001${String(n).padStart(2, '0')}`
/** One with a backlog, seven with little. */
const BACKLOGS = [600, 20, 20, 20, 20, 20, 20, 20]

test('J95 pain 41 while several tenants have something due, none is served more than one share ahead of another', async () => {
  const stage = makeStage(db)
  for (const [n, jobs] of BACKLOGS.entries())
    await want(
      db.database,
      stage.run,
      quietJob,
      range(jobs).map(() => ({ tenantId: tenant(n), plan: ['PLAIN'] as const })),
    )
  const claims: string[][] = []
  const database = new WiredDatabase({
    url: db.url,
    onAnswer: ({ name }, rows) => {
      if (name === 'jobs.claim' && rows.length > 0) claims.push(rows.map((row) => row['tenantId'] as string))
    },
  })
  const engine = new Engine({
    database,
    definitions: jobDefinitions,
    logger: silent,
    concurrency: 8,
    slot: 1,
  })
  await engine.start()
  expect(await over(stage, () => engine.wake(), 30_000)).toBe(true)
  await engine.stop()
  await database.close()

  const served = new Map(BACKLOGS.map((_, n) => [tenant(n), 0]))
  const left = new Map(BACKLOGS.map((jobs, n) => [tenant(n), jobs]))
  let largestShare = 0
  for (const claim of claims) {
    const due = [...left].filter(([, jobs]) => jobs > 0).map(([id]) => id)
    const share = Math.ceil(claim.length / due.length)
    largestShare = Math.max(largestShare, share)
    for (const id of claim) {
      served.set(id, served.get(id)! + 1)
      left.set(id, left.get(id)! - 1)
    }
    // Those that had something due before the claim and after it.
    const waiting = due.filter((id) => left.get(id)! > 0)
    const counts = waiting.map((id) => served.get(id)!)
    if (counts.length > 1) expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(largestShare)
  }
  expect([...served.values()]).toEqual(BACKLOGS)
}, 60_000)
