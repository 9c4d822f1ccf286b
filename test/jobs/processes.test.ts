import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectFolder } from '../../src/database/index.ts'
import { useDatabase } from '../harness/database.ts'
import { effectJob, gatedJob } from './fixtures/definitions.ts'
import { race } from './race.ts'
import { enqueueNumbers, finished, range } from './support.ts'
import { DIST, useEffects, useProcesses } from './threads-support.ts'

const db = useDatabase()
const effects = useEffects(db)
const processes = useProcesses(db)

test(
  'J61 J105 two processes of two threads never run one attempt twice: 2,000 jobs',
  () => race({ db, effects, processes }, { effects: 400, noops: 1_600, processes: 2, threads: 2 }),
  90_000,
)

test('J63 a process killed in the middle: every job ends once, every effect happened once', async () => {
  const numbers = range(12).map((n) => 100_000 + n)
  const openGate = await effects.closeGate()
  const ids = await enqueueNumbers(db, gatedJob, numbers)
  const doomed = await processes.start()
  // Two stand in the middle of their transactions, others are begun and wait for a connection.
  await expect.poll(effects.atTheGate, { timeout: 10_000 }).toBeGreaterThanOrEqual(2)
  await processes.kill(doomed)
  const heir = await processes.start()
  await openGate()
  await expect.poll(effects.left, { timeout: 20_000 }).toBe(0)
  expect(await effects.of(numbers)).toEqual(numbers.map((n) => ({ n, status: 'SUCCEEDED', times: 1 })))
  for (const id of ids) {
    expect(await finished(db, id)).toMatchObject({ status: 'SUCCEEDED' })
    const { rows } = await db.pool.query('select "to", failure_class from job_event where job_id = $1 order by id', [
      id,
    ])
    expect(rows.at(-1)).toEqual({ to: 'SUCCEEDED', failure_class: null })
    expect(rows.slice(0, -1).every((row) => row.failure_class === 'LOST')).toBe(true)
  }
  expect(await processes.stop(heir)).toBe(0)
})

test('pitfall 8 a path with a plus, an at sign, brackets and spaces', async () => {
  const odd = await mkdtemp(join(tmpdir(), 'regie @scope+pkg [id] (x) & y '))
  try {
    for (const folder of ['src', 'test/jobs']) await cp(join(DIST, folder), join(odd, folder), { recursive: true })
    await writeFile(join(odd, 'package.json'), '{"type":"module"}')
    await symlink(join(projectFolder(), 'node_modules'), join(odd, 'node_modules'))
    const child = await processes.start({ threads: 1 }, odd)
    const [id] = await enqueueNumbers(db, effectJob, [200_000])
    child.send('wake')
    await expect.poll(() => finished(db, id!), { timeout: 10_000 }).toMatchObject({ status: 'SUCCEEDED' })
    expect(await processes.stop(child)).toBe(0)
  } finally {
    await rm(odd, { recursive: true, force: true })
  }
})
