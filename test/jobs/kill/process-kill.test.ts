import { beforeAll, test } from 'vitest'
import { useDatabase } from '../../harness/database.ts'
import { makeTables } from './kill-at.ts'
import { killEverywhere, scenarios } from './kill-points.ts'

const db = useDatabase()
beforeAll(() => makeTables(db))

test.each(scenarios)(
  'J06 J63 a process ended by SIGKILL between any two statements: $name (a sample)',
  (scenario) => killEverywhere(db, scenario, { seed: 2, strikes: 1 }),
  60_000,
)
