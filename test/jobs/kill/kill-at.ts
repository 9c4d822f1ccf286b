import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { projectFolder } from '../../../src/database/index.ts'
import type { TestDatabase } from '../../harness/database.ts'
import { MAKE_TABLES } from './domain.ts'
import { violations } from './invariants.ts'
import type { Scenario } from './scenarios.ts'
import { cancelAll, over, type Stage } from './stage.ts'
import { Victim } from './victim.ts'
import type { Fate, Point, WireOptions } from './wire.ts'

/**
 * How a process is struck at a point. PAUSE: it stands still there, its lease lapses, others do its work, and then it
 * goes on as if nothing had happened.
 */
export type Blow = Exclude<Fate, 'PASS'> | 'PAUSE'
export const BLOWS: readonly Blow[] = ['KILL_BEFORE', 'KILL_AFTER', 'CUT_BEFORE', 'CUT_AFTER', 'PAUSE']

export interface Strike extends Point {
  readonly blow: Blow
}

const PATIENCE_MS = 20_000
/** How long the others are given while the victim stands still, perhaps with a row locked that they want. */
const PAUSE_MS = 250

export const makeStage = (db: TestDatabase, scenario?: Scenario): Stage => ({
  db,
  run: `kill.run_${randomUUID().replaceAll('-', '')}`,
  scheduled: scenario?.scheduled === true,
})

export const makeTables = (db: TestDatabase) => db.pool.query(MAKE_TABLES)

/** Runs the scenario undisturbed; answers with every point it passed. */
export async function record(db: TestDatabase, scenario: Scenario): Promise<{ points: Point[]; problems: string[] }> {
  const stage = makeStage(db, scenario)
  await scenario.arrange(stage)
  const victim = new Victim(stage)
  await scenario.act(stage, victim)
  await victim.end()
  const points = [...victim.database.points]
  return { points, problems: await settled(scenario, stage, [victim]) }
}

export interface StrikeOptions extends Pick<WireOptions, 'rewrite'> {
  /** How long a paused process stands still: until then. By default for a moment. */
  readonly meanwhile?: (stage: Stage, other: Victim) => Promise<unknown>
}

/** Strikes the process at one point of the scenario, has others bring everything to its end, and answers with what is wrong. */
export async function strikeAt(
  db: TestDatabase,
  scenario: Scenario,
  strike: Strike,
  { meanwhile, ...options }: StrikeOptions = {},
): Promise<{ reached: boolean; problems: string[] }> {
  const stage = makeStage(db, scenario)
  await scenario.arrange(stage)
  let reached = false
  const all: Victim[] = []
  const victim = new Victim(stage, {
    ...options,
    async decide({ name, nth }) {
      if (name !== strike.name || nth !== strike.nth) return 'PASS'
      reached = true
      if (strike.blow !== 'PAUSE') return strike.blow
      await victim.lapse()
      const other = await heir(stage, options)
      all.push(other)
      await (meanwhile?.(stage, other) ?? over(stage, () => other.wake(), PAUSE_MS))
      return 'PASS'
    },
  })
  all.push(victim)
  try {
    const acting = scenario.act(stage, victim).catch((error: unknown) => {
      if (!victim.database.dead) throw error
    })
    await Promise.race([acting, victim.database.death])
    await victim.end()
    return { reached, problems: await settled(scenario, stage, all, options) }
  } finally {
    for (const one of all) await one.end()
  }
}

const PROCESS = join(projectFolder(), 'dist/test/jobs/kill/killed.js')

/** The same with a process of its own, which ends by SIGKILL. */
export async function killProcessAt(
  db: TestDatabase,
  scenario: Scenario,
  { name, nth, blow }: Strike,
): Promise<{ reached: boolean; problems: string[] }> {
  const stage = makeStage(db, scenario)
  await scenario.arrange(stage)
  const side = blow === 'KILL_BEFORE' ? 'BEFORE' : 'AFTER'
  const child = fork(PROCESS, [db.url, stage.run, scenario.name, name, String(nth), side])
  const workers: string[] = []
  child.on('message', (workerId) => void workers.push(workerId as string))
  const [, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  await db.pool.query(`update job_worker set lease_until = now() - interval '1 second' where id = any($1)`, [workers])
  return { reached: signal === 'SIGKILL', problems: await settled(scenario, stage, []) }
}

/** An engine under a new name, as after a restart. */
export async function heir(stage: Stage, options: Pick<WireOptions, 'rewrite'> = {}): Promise<Victim> {
  const next = new Victim(stage, options)
  await next.start()
  return next
}

/** Brings the run to its end with an engine that nobody strikes; answers with what is wrong then. */
export async function settled(
  scenario: Scenario,
  stage: Stage,
  all: Victim[],
  options: Pick<WireOptions, 'rewrite'> = {},
): Promise<string[]> {
  let last = all.find((one) => one.runs)
  if (last === undefined && !(await over(stage, () => {}, 0, scenario.goal)))
    all.push((last = await heir(stage, options)))
  const wake = () => void (last?.wake(), cancelAll(stage).catch(() => {}))
  const done = await over(stage, wake, PATIENCE_MS, scenario.goal)
  await last?.end()
  const stuck = done ? [] : ['the run does not come to its end']
  const wrong = await violations(stage.db.pool, stage.run, alive(all))
  return [...stuck, ...wrong, ...((await scenario.check?.(stage)) ?? [])]
}

/** The workers whose lease held all the time. */
export const alive = (all: readonly Victim[]): ReadonlySet<string> =>
  new Set(all.filter(({ lapsed }) => !lapsed).map(({ workerId }) => workerId))
