import { beforeAll, test } from 'vitest'
import { useServer } from '../../harness/server.ts'
import { makeTables } from './kill-at.ts'
import { scenarios, strikeEverywhere } from './kill-points.ts'

const db = useServer()
beforeAll(() => makeTables(db))

test.each(scenarios)(
  'J06 J08 J63 killed between any two statements: $name (a sample)',
  (scenario) => strikeEverywhere(db, scenario, { seed: 1, strikes: 2 }),
  60_000,
)
