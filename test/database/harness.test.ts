import { expect, test } from 'vitest'
import { useDatabase } from '../harness/database.ts'

const db = useDatabase()

test('a test file has a migrated database of its own', async () => {
  const { rows } = await db.pool.query('select current_database() as name, (select count(*)::int from event) as events')
  expect(rows[0]).toMatchObject({ events: 0 })
  expect(db.url).toContain(rows[0].name)
})
