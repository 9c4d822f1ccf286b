import { randomUUID } from 'node:crypto'
import type { TestDatabase } from '../../harness/database.ts'
import { MAKE_TABLES } from './domain.ts'
import { violations } from './invariants.ts'
import { cancelAll, over, type Scenario, type Stage } from './scenarios.ts'
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

export const makeStage = (db: TestDatabase): Stage => ({ db, run: `run-${randomUUID()}` })

export const makeTables = (db: TestDatabase) => db.pool.query(MAKE_TABLES)

/** Runs the scenario undisturbed; answers with every point it passed. */
export async function record(db: TestDatabase, scenario: Scenario): Promise<{ points: Point[]; problems: string[] }> {
  const stage = makeStage(db)
  await scenario.arrange(stage)
  const victim = new Victim(stage)
  await scenario.act(stage, victim)
  await victim.end()
  const points = [...victim.database.points]
  return { points, problems: await settled(scenario, stage) }
}

/** Strikes the process at one point of the scenario, has others bring everything to its end, and answers with what is wrong. */
export async function strikeAt(
  db: TestDatabase,
  scenario: Scenario,
  strike: Strike,
  options: Pick<WireOptions, 'rewrite'> = {},
): Promise<{ reached: boolean; problems: string[] }> {
  const stage = makeStage(db)
  await scenario.arrange(stage)
  let reached = false
  const others: Victim[] = []
  const victim = new Victim(stage, {
    ...options,
    async decide({ name, nth }) {
      if (name !== strike.name || nth !== strike.nth) return 'PASS'
      reached = true
      if (strike.blow !== 'PAUSE') return strike.blow
      await victim.lapse()
      others.push(await heir(stage, options))
      await over(stage, () => others[0]!.wake(), PAUSE_MS)
      return 'PASS'
    },
  })
  try {
    const acting = scenario.act(stage, victim).catch((error: unknown) => {
      if (!victim.database.dead) throw error
    })
    await Promise.race([acting, victim.database.death])
    await victim.end()
    return { reached, problems: await settled(scenario, stage, options, others) }
  } finally {
    await victim.end()
    for (const other of others) await other.end()
  }
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
  options: Pick<WireOptions, 'rewrite'> = {},
  others: Victim[] = [],
): Promise<string[]> {
  if (others.length === 0 && !(await over(stage, () => {}, 0))) others.push(await heir(stage, options))
  const [last] = others
  const done = await over(stage, () => void (last?.wake(), cancelAll(stage).catch(() => {})), PATIENCE_MS)
  for (const other of others.splice(0)) await other.end()
  const stuck = done ? [] : ['the run does not come to its end']
  return [...stuck, ...(await violations(stage.db.pool, stage.run)), ...((await scenario.check?.(stage)) ?? [])]
}
