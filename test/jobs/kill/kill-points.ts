import { expect } from 'vitest'
import type { TestDatabase } from '../../harness/database.ts'
import { BLOWS, killProcessAt, record, type Strike, strikeAt } from './kill-at.ts'
import { randomOf } from './random.ts'
import { type Scenario, scenarios } from './scenarios.ts'
import type { Point } from './wire.ts'

/** What an engine asks again and again while it waits: of a name with more points than this, only the first few count. */
const MANY = 8
const FIRST_FEW = 3

/** Every blow at every point. */
function strikesOf(points: readonly Point[]): Strike[] {
  const times = new Map<string, number>()
  for (const { name } of points) times.set(name, (times.get(name) ?? 0) + 1)
  return points
    .filter(({ name, nth }) => nth <= FIRST_FEW || times.get(name)! <= MANY)
    .flatMap((point) => BLOWS.map((blow) => ({ ...point, blow })))
}

/** Some of a scenario's strikes. */
export interface Sample {
  readonly seed: number
  readonly strikes: number
}

type StrikeOne = (strike: Strike) => Promise<{ reached: boolean; problems: string[] }>

/**
 * Runs a scenario undisturbed to learn its points, then strikes at each, or at a sample drawn by the seed. What is
 * wrong is named with the strike, so that `strikeAt` can do just that again.
 */
export async function strikeEverywhere(db: TestDatabase, scenario: Scenario, sample?: Sample): Promise<void> {
  const { points, problems } = await record(db, scenario)
  expect(problems).toEqual([])
  const reached = await strikeAll(scenario, strikesOf(points), (strike) => strikeAt(db, scenario, strike), sample)
  // Later points depend on how the run went; but of every statement of the scenario one was struck.
  if (sample === undefined) expect([...reached].sort()).toEqual([...new Set(points.map(({ name }) => name))].sort())
}

/** The kills alone, each of a real process. */
export async function killEverywhere(db: TestDatabase, scenario: Scenario, sample?: Sample): Promise<void> {
  const kills = strikesOf((await record(db, scenario)).points).filter(({ blow }) => blow.startsWith('KILL'))
  await strikeAll(scenario, kills, (strike) => killProcessAt(db, scenario, strike), sample)
}

/** Which statements were struck, one at the least. A sample goes on until as many points as it wants were reached. */
async function strikeAll(
  scenario: Scenario,
  strikes: readonly Strike[],
  strikeOne: StrikeOne,
  sample?: Sample,
): Promise<Set<string>> {
  const chosen =
    sample === undefined ? strikes : randomOf(sample.seed).some(firstOnes(strikes), sample.strikes + MOST_MISSED)
  const wrong: string[] = []
  const reached = new Set<string>()
  let hits = 0
  for (const strike of chosen) {
    if (sample !== undefined && hits === sample.strikes) break
    const { reached: hit, problems } = await strikeOne(strike)
    if (hit) {
      hits++
      reached.add(strike.name)
    }
    for (const problem of problems)
      wrong.push(`${scenario.name}: ${strike.blow} at ${strike.name} #${strike.nth}: ${problem}`)
  }
  expect(wrong).toEqual([])
  expect(hits).toBeGreaterThan(0)
  return reached
}

/** How often a statement comes depends on the machine; that it comes, less so. */
const firstOnes = (strikes: readonly Strike[]): Strike[] => strikes.filter(({ nth }) => nth === 1)

/** Points that a sample may miss: what engines do at intervals happens in some runs and not in others. */
const MOST_MISSED = 3

export { scenarios }
