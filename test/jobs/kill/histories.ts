import { actOnJob, cancelJobs, JobActRefusedError, JobRegistry } from '../../../src/jobs/index.ts'
import type { TestDatabase } from '../../harness/database.ts'
import { gate, OTHER_TENANT, TENANT } from '../support.ts'
import { Chaos } from './chaos.ts'
import {
  type Act,
  batchJob,
  dependentJob,
  jobDefinitions,
  limitedJob,
  quietJob,
  toldJob,
  want,
  type Wanted,
} from './domain.ts'
import { violations } from './invariants.ts'
import { alive, heir, makeStage } from './kill-at.ts'
import { type Random, randomOf } from './random.ts'
import { cancelAll, over, type Stage } from './stage.ts'
import { Victim } from './victim.ts'
import type { WireOptions } from './wire.ts'

const THIRD_TENANT = '0193a000-0000-7000-8000-00000000000c'
const TENANTS = [TENANT, OTHER_TENANT, THIRD_TENANT]
const ENGINES = 3
const MOST_LIVES = 4
/** Without new faults by then, everything is brought to its end. */
const CHAOS_MS = 500
const PATIENCE_MS = 20_000

const BUSY: readonly Act[] = [
  'DO',
  'DO',
  'STEP',
  'PLAIN',
  'OUTPUT',
  'THROW',
  'UNDO',
  'FAIL',
  'GONE',
  'LATER',
  'POSTPONE',
  'WAIT',
]
const TOGETHER: readonly Act[] = ['DO', 'DO', 'DO', 'FAIL', 'THROW']

export interface HistoryOptions extends Pick<WireOptions, 'rewrite'> {
  /** How long to wait for the end of everything. */
  readonly patienceMs?: number
  /** The faults of an earlier story that are to happen again; all of the seed's when left out. */
  readonly only?: ReadonlySet<string>
}

/**
 * Several engines, somebody who enqueues and somebody who cancels, on one database; any of them may be killed, cut off,
 * delayed or suspended at any statement, and engines come back under new names. Answers with what is wrong once
 * everything has come to its end, and with the faults that led there.
 */
export async function history(
  db: TestDatabase,
  seed: number,
  { rewrite, only, patienceMs = PATIENCE_MS }: HistoryOptions = {},
): Promise<{ problems: string[]; story: string[] }> {
  const stage = makeStage(db)
  const random = randomOf(seed)
  const chaos = new Chaos(seed, only ?? null)
  const wire = rewrite === undefined ? {} : { rewrite }
  const all: Victim[] = []
  const process = (actor: string): Victim => {
    const victim: Victim = new Victim(stage, { ...wire, decide: (point) => chaos.decide(actor, point, victim) })
    all.push(victim)
    return victim
  }
  const ended = gate()
  const engines: Promise<void>[] = []
  try {
    const callers = [
      enqueues(stage, process('caller 0'), random),
      enqueues(stage, process('caller 1'), random),
      cancels(stage, process('canceller'), random, chaos),
      triesAgain(stage, process('operator'), random, chaos),
    ]
    for (let place = 0; place < ENGINES; place++)
      engines.push(lives(place, 1 + random.whole(4), process, ended.promise))
    await Promise.all(callers)
    await over(stage, () => all.forEach((victim) => victim.wake()), CHAOS_MS)
    chaos.end()
    ended.open()
    const last = await heir(stage, wire)
    all.push(last)
    const wake = () => {
      all.forEach((victim) => victim.wake())
      cancelAll(stage).catch(() => {})
    }
    const done = await over(stage, wake, patienceMs)
    await Promise.all(engines)
    const stuck = done ? [] : ['the history does not come to its end']
    return { problems: [...stuck, ...(await violations(db.pool, stage.run, alive(all)))], story: chaos.story }
  } finally {
    chaos.end()
    ended.open()
    await Promise.allSettled(engines)
    for (const victim of all) await victim.end()
  }
}

/** One engine after the other in the same place, each under a new name, until the chaos is over. */
async function lives(
  place: number,
  concurrency: number,
  process: (actor: string) => Victim,
  ended: Promise<void>,
): Promise<void> {
  let over = false
  void ended.then(() => (over = true))
  for (let life = 0; life < MOST_LIVES && !over; life++) {
    const victim = process(`engine ${place}.${life}`)
    try {
      await victim.start({ concurrency })
    } catch (error) {
      if (!victim.database.dead) throw error
    }
    await Promise.race([victim.database.death, ended])
    if (victim.database.dead) await victim.end()
  }
}

/** Jobs in a few transactions, some given up, some with keys that come again. */
async function enqueues({ run }: Stage, caller: Victim, random: Random): Promise<void> {
  for (let round = 0; round < 2; round++) {
    const tenantId = random.one(TENANTS)
    const jobs = (of: readonly Act[], keyed: boolean): Wanted[] =>
      Array.from({ length: 1 + random.whole(3) }, () => ({
        tenantId,
        plan: Array.from({ length: 1 + random.whole(3) }, () => random.one(of)),
        ...(keyed ? { idempotencyKey: `${run} ${random.whole(2)}` } : {}),
      }))
    const told = jobs(BUSY, random.chance(0.6))
    const quiet = jobs(BUSY, false)
    const batch = jobs(TOGETHER, false)
    const [limited, dependent] = [jobs(BUSY, false), jobs(BUSY, false)]
    const givenUp = random.chance(0.2)
    try {
      await caller.database.transaction(tenantId, async (tx) => {
        await want(tx, run, toldJob, told)
        await want(tx, run, quietJob, quiet)
        await want(tx, run, batchJob, batch)
        await want(tx, run, limitedJob, limited)
        await want(tx, run, dependentJob, dependent)
        if (givenUp) throw new GivenUp()
      })
    } catch (error) {
      if (caller.database.dead) return
      if (!(error instanceof GivenUp)) caller.expectLost(error)
    }
  }
}

class GivenUp extends Error {}

/** Cancels a few jobs while others are at work, one that runs if there is one. */
async function cancels({ db, run }: Stage, canceller: Victim, random: Random, chaos: Chaos): Promise<void> {
  for (let round = 0; round < 4; round++) {
    await chaos.after(10 + random.whole(40))
    const { rows } = await db.pool.query(
      `select id, tenant_id from job where correlation_id = $1 and cancel_requested_at is null
       order by worker_id is null, id limit 1`,
      [run],
    )
    for (const { id, tenant_id: tenantId } of rows)
      try {
        await canceller.database.transaction(
          tenantId,
          async (tx) => void (await cancelJobs(tx, { tenantId, jobIds: [id], reason: 'enough', actor: 'anna' })),
        )
      } catch (error) {
        if (canceller.database.dead) return
        canceller.expectLost(error)
      }
  }
}

/** An operator has failed jobs tried again, and says of some that they are dealt with. */
async function triesAgain({ db, run }: Stage, operator: Victim, random: Random, chaos: Chaos): Promise<void> {
  const parts = { database: operator.database, registry: new JobRegistry(jobDefinitions) }
  const by = { actor: 'olga', reason: 'A test.', correlationId: 'kill' }
  for (let round = 0; round < 3; round++) {
    await chaos.after(30 + random.whole(60))
    const act = random.chance(0.7) ? 'RETRY' : 'HANDLE'
    const { rows } = await db.pool.query(
      `select id from job_finished where correlation_id = $1 and status = 'FAILED' order by id limit 1`,
      [run],
    )
    for (const { id } of rows)
      try {
        await actOnJob(parts, act, id, by)
      } catch (error) {
        if (operator.database.dead) return
        if (!(error instanceof JobActRefusedError)) operator.expectLost(error)
      }
  }
}

/**
 * The histories of some seeds. Of a history in which something is wrong, the seed and the shortest story found are in
 * the error; with `KILL_SEED` set to it, the tests do that history alone.
 */
export async function histories(db: TestDatabase, seeds: readonly number[]): Promise<void> {
  const given = process.env['KILL_SEED']
  for (const seed of given ? [Number(given)] : seeds) {
    const { problems, story } = await history(db, seed)
    if (problems.length === 0) continue
    // At once, since looking for a shorter story takes its time.
    console.error(`KILL_SEED=${seed} does it again.\n${problems.join('\n')}`)
    const shortest = await shrunk(db, seed, story)
    throw new Error(
      `KILL_SEED=${seed} does it again.\n${problems.join('\n')}\nAfter, of ${story.length} faults, these:\n${shortest.join('\n')}`,
    )
  }
}

const MOST_TRIES = 12

/** Leaves out parts of the story, ever smaller ones, as long as something goes wrong without them. */
async function shrunk(db: TestDatabase, seed: number, story: readonly string[]): Promise<readonly string[]> {
  let shortest = story
  let part = Math.ceil(story.length / 2)
  let at = 0
  for (let tries = 0; tries < MOST_TRIES && part > 0; tries++) {
    const fewer = [...shortest.slice(0, at), ...shortest.slice(at + part)]
    const { problems } = await history(db, seed, { only: new Set(fewer), patienceMs: 3_000 })
    if (problems.length > 0) shortest = fewer
    else at += part
    if (at < shortest.length) continue
    at = 0
    part = Math.floor(part / 2)
  }
  return shortest
}
