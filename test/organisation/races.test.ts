import { test } from 'vitest'
import { useDatabase } from '../harness/database.ts'
import { useEngines } from '../jobs/support.ts'
import { race } from './races.ts'

const db = useDatabase()
const engines = useEngines(db)

test(
  'C30 C33 everybody does everything at once: what is refused says so, and what holds always, holds',
  () => race(db, engines, { seed: 1, acts: 25 }),
  60_000,
)
