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

/**
 * Runs a scenario undisturbed to learn its points, then strikes at each, or at a sample drawn by the seed. What is
 * wrong is named with the strike, so that `strikeAt` can do just that again.
 */
export async function strikeEverywhere(
  db: TestDatabase,
  scenario: Scenario,
  sample?: { readonly seed: number; readonly strikes: number },
): Promise<void> {
  const { points, problems } = await record(db, scenario)
  expect(problems).toEqual([])
  const all = strikesOf(points)
  const chosen = sample === undefined ? all : randomOf(sample.seed).some(all, sample.strikes)
  const wrong: string[] = []
  const reached = new Set<string>()
  for (const strike of chosen) {
    const { reached: hit, problems: found } = await strikeAt(db, scenario, strike)
    if (hit) reached.add(strike.name)
    for (const problem of found)
      wrong.push(`${scenario.name}: ${strike.blow} at ${strike.name} #${strike.nth}: ${problem}`)
  }
  expect(wrong).toEqual([])
  // Later points depend on how the run went; but of every statement of the scenario one was struck.
  if (sample === undefined) expect([...reached].sort()).toEqual([...new Set(points.map(({ name }) => name))].sort())
  else expect(reached.size).toBeGreaterThan(0)
}

/** The kills alone, each of a real process. */
export async function killEverywhere(
  db: TestDatabase,
  scenario: Scenario,
  sample?: { readonly seed: number; readonly strikes: number },
): Promise<void> {
  const kills = strikesOf((await record(db, scenario)).points).filter(({ blow }) => blow.startsWith('KILL'))
  const chosen = sample === undefined ? kills : randomOf(sample.seed).some(kills, sample.strikes)
  const wrong: string[] = []
  let reached = 0
  for (const strike of chosen) {
    const { reached: hit, problems } = await killProcessAt(db, scenario, strike)
    if (hit) reached++
    for (const problem of problems)
      wrong.push(`${scenario.name}: ${strike.blow} at ${strike.name} #${strike.nth}: ${problem}`)
  }
  expect(wrong).toEqual([])
  expect(reached).toBeGreaterThan(0)
}

export { scenarios }
