import { join } from 'node:path'
import { expect, test } from 'vitest'
import { useServer } from '../harness/server.ts'
import { range } from './support.ts'
import { DIST, useEffects, useProcesses } from './threads-support.ts'

const db = useServer()
const effects = useEffects(db)
const processes = useProcesses(db)

const SCHEDULES = ['fixture.by_interval', 'fixture.by_cron']

const slotsOf = async (schedule: string) =>
  (
    await db.pool.query(
      `select extract(epoch from slot)::int as second, outcome, job_id from job_slot where schedule = $1 order by slot`,
      [schedule],
    )
  ).rows as { second: number; outcome: string; job_id: string }[]

/** When every schedule has so many slots at least. */
const slotsReach = (count: number) =>
  expect
    .poll(async () => Math.min(...(await Promise.all(SCHEDULES.map(slotsOf))).map((slots) => slots.length)), {
      timeout: 60_000,
      interval: 250,
    })
    .toBeGreaterThanOrEqual(count)

test('J60 J105 pains 10, 22, 24 four processes and a database that restarts: every second once, none left out', async () => {
  const options = { threads: 1, definitionsModule: join(DIST, 'test/jobs/fixtures/periodic.js') }
  const children = await Promise.all(range(4).map(() => processes.start(options)))
  await slotsReach(4)
  await db.restart()
  // One of them goes for good; the others take its place, whichever fired.
  await processes.kill(children.pop()!)
  const [before] = (await Promise.all(SCHEDULES.map(slotsOf))).map((slots) => slots.length)
  await slotsReach(before! + 4)
  await db.pool.query(`update job_schedule set paused_at = now(), paused_by = 'the test' where name = any($1)`, [
    SCHEDULES,
  ])
  await expect.poll(effects.left, { timeout: 30_000 }).toBe(0)
  for (const child of children) expect(await processes.stop(child)).toBe(0)

  for (const schedule of SCHEDULES) {
    const slots = await slotsOf(schedule)
    expect(slots.map(({ second }) => second)).toEqual(range(slots.length).map((n) => slots[0]!.second + n))
    expect(new Set(slots.map(({ outcome }) => outcome))).toEqual(new Set(['FIRED']))
    const { rows } = await db.pool.query(
      `select count(*)::int as jobs, count(distinct f.id)::int as different, array_agg(distinct f.status) as statuses
       from job_finished f where type = $1`,
      [schedule],
    )
    expect(rows[0]).toEqual({ jobs: slots.length, different: slots.length, statuses: ['SUCCEEDED'] })
  }
  expect(await effects.double()).toEqual([])
  const { rows } = await db.pool.query('select count(*)::int as runs, count(distinct job_id)::int as jobs from ran')
  expect(rows[0].runs).toBe(rows[0].jobs)
}, 150_000)
