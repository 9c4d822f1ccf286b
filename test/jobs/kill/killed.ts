/**
 * A process of its own that plays one scenario and kills itself at one point of it, as if the power had failed.
 * Arguments: the database's address, the run, the scenario, the name and number of the point, BEFORE or AFTER.
 */
import type { TestDatabase } from '../../harness/database.ts'
import pg from 'pg'
import { Database } from '../../../src/database/index.ts'
import { scenarios } from './scenarios.ts'
import { Victim } from './victim.ts'

const [, , url, run, scenarioName, name, nth, side] = process.argv
const db: TestDatabase = {
  url: url!,
  pool: new pg.Pool({ connectionString: url!, max: 3 }),
  database: new Database({ url: url!, max: 3, applicationName: 'killed', preparedStatements: true }),
}
const scenario = scenarios.find((one) => one.name === scenarioName)!
const stage = { db, run: run!, scheduled: scenario.scheduled === true }
const victim = new Victim(stage, {
  decide: (point) => (point.name === name && point.nth === Number(nth) ? `KILL_${side as 'BEFORE' | 'AFTER'}` : 'PASS'),
  die: () => process.kill(process.pid, 'SIGKILL'),
})
process.send?.(victim.workerId)
await scenario.act(stage, victim)
await victim.end()
// The point was never reached, which is an answer too.
process.exit(3)
