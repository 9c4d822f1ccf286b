import { beforeAll, test } from 'vitest'
import { useServer } from '../../harness/server.ts'
import { makeTables } from './kill-at.ts'
import { killEverywhere, scenarios } from './kill-points.ts'

const db = useServer()
beforeAll(() => makeTables(db))

/** One of each kind; the points of all are struck in one process by kill-points.test.ts. */
const FEW = /enqueues|transactions|batch|rescue|schedule/

test.each(scenarios.filter(({ name }) => FEW.test(name)))(
  'J06 J63 a process ended by SIGKILL between any two statements: $name (a sample)',
  (scenario) => killEverywhere(db, scenario, { seed: 2, strikes: 1 }),
  60_000,
)
