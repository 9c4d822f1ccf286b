import { expect, test } from 'vitest'
import { keepTablesSmall } from '../../src/jobs/periodic/retention.ts'
import { useDatabase } from '../harness/database.ts'
import { arrangeOld, stillThere } from './kill/old.ts'
import { WiredDatabase, type WireOptions } from './kill/wire.ts'
import { range, TENANT } from './support.ts'

const db = useDatabase()
const never = new AbortController().signal

async function wired<T>(options: Omit<WireOptions, 'url'>, act: (database: WiredDatabase) => Promise<T>): Promise<T> {
  const database = new WiredDatabase({ url: db.url, ...options })
  try {
    return await act(database)
  } finally {
    await database.close()
  }
}

test('what piled up goes in many short transactions, since one that writes holds up every subscription', async () => {
  await db.pool.query(`insert into job_schedule (name, every_ms, job_type) values ('test.piled', 1000, 'test.x')`)
  await db.pool.query(
    `insert into job_slot (schedule, slot) select 'test.piled', now() - interval '60 days' + n * interval '1 s'
     from generate_series(1, 12000) n`,
  )
  await db.pool.query(
    `insert into job_key select $1, 'test.piled', n::text, gen_random_uuid(), now() - interval '40 days'
     from generate_series(1, 50000) n`,
    [TENANT],
  )
  const most: Record<string, number[]> = { 'jobs.forget_slots': [], 'jobs.forget_keys': [] }
  const { forgotten } = await wired(
    { onAnswer: ({ name }, [row]) => void most[name]?.push(Number(row!['rows'])) },
    (database) => keepTablesSmall(database, never),
  )
  expect(forgotten).toMatchObject({ slots: 12_000, keys: 50_000 })
  expect(most['jobs.forget_slots']).toEqual([5_000, 5_000, 2_000])
  expect(most['jobs.forget_keys']!.length).toBeGreaterThan(2)
  expect(Math.max(...most['jobs.forget_keys']!)).toBeLessThan(30_000)
})

test('a stop is heard between two of them', async () => {
  await db.pool.query(
    `insert into job_slot (schedule, slot) select 'test.piled', now() - interval '60 days' + n * interval '1 s'
     from generate_series(1, 12000) n`,
  )
  const stop = new AbortController()
  const stopped = wired(
    { onAnswer: ({ name }) => void (name === 'jobs.forget_slots' && stop.abort(new Error('The engine stops.'))) },
    (database) => keepTablesSmall(database, stop.signal),
  )
  await expect(stopped).rejects.toThrow('The engine stops.')
  expect((await db.pool.query('select count(*)::int from job_slot')).rows).toEqual([{ count: 7_000 }])
})

test('J56 J58 a kind that cannot be deleted keeps no other, and is not passed over in silence', async () => {
  await arrangeOld(db, 'kill.isolated')
  await db.pool.query(
    `insert into job_breaker (type, dependency, state, changed_at) values ('a', 'b', 'CLOSED', now() - interval '40 days')`,
  )
  const broken = wired(
    { rewrite: (name, text) => (name === 'jobs.forget_keys' ? text.replace('job_key k', 'job_nothing k') : text) },
    (database) => keepTablesSmall(database, never),
  )
  await expect(broken).rejects.toThrow('job_nothing')
  expect((await db.pool.query('select from job_breaker')).rowCount).toBe(0)
  expect(await stillThere(db, 'kill.isolated')).toEqual([
    'left is FAILED in job_finished_default 3 keys without a job, 1 with, 0 slots',
  ])
  await keepTablesSmall(db.database, never)
  expect(await stillThere(db, 'kill.isolated')).toEqual([])
})

test('J105 run twice at once by several processes, each week goes once', async () => {
  for (const n of range(4)) await arrangeOld(db, `kill.twice_${n}`)
  const weeks = `to_char(generate_series(now(), now() + interval '1 week', '1 week') at time zone 'UTC', 'IYYY"w"IW')`
  const { rows } = await db.pool.query(`select 'job_finished_' || ${weeks} as name`)
  for (const { name } of rows) await db.pool.query(`drop table ${name}`)
  const works = await Promise.all(range(4).map(() => wired({}, (database) => keepTablesSmall(database, never))))
  // Whoever found the table busy leaves it to the next hour.
  await keepTablesSmall(db.database, never)
  const all = (what: 'made' | 'dropped') => works.flatMap((work) => work[what])
  expect(new Set(all('dropped')).size).toBe(all('dropped').length)
  expect(new Set(all('made')).size).toBe(all('made').length)
  for (const n of range(4)) expect(await stillThere(db, `kill.twice_${n}`)).toEqual([])
})
