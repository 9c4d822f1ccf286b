import { beforeAll, test } from 'vitest'
import { useServer } from '../../harness/server.ts'
import { makeTables } from './kill-at.ts'
import { killEverywhere, scenarios } from './kill-points.ts'

const db = useServer()
beforeAll(() => makeTables(db))

test.each(scenarios)('J06 J63 a process ended by SIGKILL between any two statements: $name', (scenario) =>
  killEverywhere(db, scenario),
)
