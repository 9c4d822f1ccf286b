import { test } from 'vitest'
import { useDatabase } from '../harness/database.ts'
import { useEngines } from '../jobs/support.ts'
import { race } from './races.ts'

const db = useDatabase()
const engines = useEngines(db)

test.each([2, 3, 4, 5])(
  'C30 C33 everybody does everything at once, for long (seed %i)',
  (seed) => race(db, engines, { seed, acts: 100 }),
  180_000,
)
