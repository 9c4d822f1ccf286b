import { beforeAll, expect, test } from 'vitest'
import { cancelJobs } from '../../../src/jobs/index.ts'
import { useServer } from '../../harness/server.ts'
import { TENANT } from '../support.ts'
import { toldJob, want } from './domain.ts'
import { history } from './histories.ts'
import { heir, makeStage, makeTables, settled, strikeAt } from './kill-at.ts'
import { type Scenario, scenarios } from './scenarios.ts'
import { over } from './stage.ts'
import { Victim } from './victim.ts'

const db = useServer()
beforeAll(() => makeTables(db))

/** A fault put into the engine on purpose: in some statements, one text instead of another. */
interface Mutant {
  readonly name: string
  readonly statements: readonly string[]
  readonly instead: readonly (readonly [RegExp, string])[]
  /** What the histories say of it. */
  readonly shows: RegExp
}

const mutants: readonly Mutant[] = [
  {
    name: 'a rescue does not ask for the lease',
    statements: ['jobs.find_lost', 'jobs.rescue'],
    instead: [[/and not exists \(select from job_worker w .*?\(\)\)/, '']],
    shows: /was taken from a worker that lived/,
  },
  {
    name: 'a claim does not count the attempt',
    statements: ['jobs.claim'],
    instead: [[/attempt = attempt \+ 1,/, '']],
    shows: /ended attempt 0 after 0/,
  },
  {
    name: 'a lost worker is not counted',
    statements: ['jobs.rescue'],
    instead: [[/\(timed\.kind = 'LOST'\)::int/, '0']],
    shows: /lost, and had/,
  },
  {
    name: 'a job that succeeded is not kept',
    statements: ['jobs.settle_succeeded'],
    instead: [[/from over\n\s*\), logged/, 'from over where false), logged']],
    shows: /stands in 0 places/,
  },
]

const MOST_HISTORIES = 40

/** The mutant's text for a statement; `unchanged` says which statements it could not be put into. */
function mutated({ statements, instead }: Pick<Mutant, 'statements' | 'instead'>) {
  const unchanged = new Set<string>()
  const rewrite = (name: string, text: string): string => {
    if (!statements.includes(name)) return text
    const other = instead.reduce((before, [pattern, replacement]) => before.replace(pattern, replacement), text)
    if (other === text) unchanged.add(name)
    return other
  }
  return { rewrite, unchanged }
}

test.each(mutants)(
  'J08 J95 the histories notice when $name',
  async ({ shows, ...mutant }) => {
    const { rewrite, unchanged } = mutated(mutant)
    const seen: string[] = []
    for (let seed = 0; seed < MOST_HISTORIES && !seen.some((problem) => shows.test(problem)); seed++)
      seen.push(...(await history(db, seed, { rewrite, patienceMs: 500 })).problems)
    expect([...unchanged]).toEqual([])
    expect(seen.join('\n')).toMatch(shows)
    await db.pool.query('truncate job')
  },
  60_000,
)

// What was running when a worker died is tried again alone, after a second: no history suspends a worker for so long.
test('J08 J95 the kill points notice when an ending does not ask for the claim', async () => {
  const { rewrite, unchanged } = mutated({
    statements: ['jobs.prove_claims', 'jobs.settle', 'jobs.settle_succeeded'],
    instead: [
      [/and claim_epoch = \w+\."claimEpoch"/, ''],
      [/using \(id, claim_epoch\)/, 'using (id)'],
    ],
  })
  const scenario: Scenario = {
    name: 'a job that goes on for a while',
    arrange: ({ db, run }) => want(db.database, run, toldJob, [{ tenantId: TENANT, plan: ['DO', 'LINGER'] }]),
    async act(_, victim) {
      await victim.start()
      await victim.untilOver()
    },
  }
  const { reached, problems } = await strikeAt(
    db,
    scenario,
    { name: 'jobs.prove_claims', nth: 1, blow: 'PAUSE' },
    {
      rewrite,
      // Until another worker has the job.
      meanwhile: (stage, other) => Promise.race([other.begun(), over(stage, () => other.wake(), 10_000)]),
    },
  )
  expect(reached).toBe(true)
  expect([...unchanged]).toEqual([])
  expect(problems.join('\n')).toMatch(/has claim \d|was done under another claim/)
}, 30_000)

// The moment between a claim's choice and its update is too short for chance to find: both wait for a row that is held.
test('J08 J95 two claims at one moment notice when they may take one job', async () => {
  const { rewrite, unchanged } = mutated({ statements: ['jobs.claim'], instead: [[/for update skip locked/, '']] })
  const stage = makeStage(db)
  await want(db.database, stage.run, toldJob, [{ tenantId: TENANT, plan: ['DO'] }])
  const holder = await db.pool.connect()
  await holder.query('begin')
  await holder.query('select from job where correlation_id = $1 for update', [stage.run])
  const both = await Promise.all([heir(stage, { rewrite }), heir(stage, { rewrite })])
  await expect
    .poll(async () => {
      for (const one of both) one.wake()
      const { rows } = await db.pool.query(
        `select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and query like '%claim_epoch%'`,
      )
      return rows[0].n
    })
    .toBe(2)
  await holder.query('commit')
  holder.release()
  const problems = await settled({ name: 'two claims', arrange: async () => {}, act: async () => {} }, stage, both)
  for (const one of both) await one.end()
  expect([...unchanged]).toEqual([])
  expect(problems.join('\n')).toMatch(/has claim \d|ended claims/)
}, 30_000)

// A history cancels a job at the moment it runs once in dozens.
test('J08 J95 a cancel of what runs notices when it takes the job', async () => {
  const { rewrite, unchanged } = mutated({
    statements: ['jobs.cancel'],
    instead: [
      [/ and wanted\.worker_id is null\n/, '\n'],
      [/wanted\.worker_id is not null/, 'false'],
    ],
  })
  const stage = makeStage(db)
  await want(db.database, stage.run, toldJob, [{ tenantId: TENANT, plan: ['WAIT'] }])
  const worker = await heir(stage)
  await worker.begun()
  const operator = new Victim(stage, { rewrite })
  const { rows } = await db.pool.query('select id from job where correlation_id = $1', [stage.run])
  const request = { tenantId: TENANT, jobIds: [rows[0].id], reason: 'enough', actor: 'anna' }
  await operator.database.transaction(TENANT, async (tx) => void (await cancelJobs(tx, request)))
  const problems = await settled({ name: 'a cancel', arrange: async () => {}, act: async () => {} }, stage, [worker])
  await operator.end()
  expect([...unchanged]).toEqual([])
  expect(problems.join('\n')).toMatch(/stands in 0 places/)
}, 30_000)

test('J08 J95 the kill points notice when a key is given to the job that comes later', async () => {
  const { rewrite, unchanged } = mutated({
    statements: ['jobs.enqueue_keyed'],
    instead: [
      [/do update set job_id = job_key\.job_id/, 'do update set job_id = excluded.job_id'],
      [/and key\.created/, ''],
    ],
  })
  const scenario = scenarios.find(({ name }) => name === 'a caller enqueues')!
  const { problems } = await strikeAt(
    db,
    scenario,
    { name: 'jobs.enqueue_keyed', nth: 1, blow: 'CUT_AFTER' },
    { rewrite },
  )
  expect([...unchanged]).toEqual([])
  expect(problems.join('\n')).toMatch(/has several jobs/)
}, 30_000)
