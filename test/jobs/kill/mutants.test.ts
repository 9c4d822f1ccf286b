import { beforeAll, expect, test } from 'vitest'
import { useServer } from '../../harness/server.ts'
import { history } from './histories.ts'
import { makeTables } from './kill-at.ts'

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

const EPOCH = /and claim_epoch = \w+\.("claimEpoch"|claim_epoch)/

const mutants: readonly Mutant[] = [
  {
    name: 'an ending does not ask for the claim',
    statements: ['jobs.settle', 'jobs.settle_succeeded', 'jobs.prove_claims'],
    instead: [[EPOCH, '']],
    shows: /has claim \d|was done|told its domain/,
  },
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
    name: 'two claims may take one job',
    statements: ['jobs.claim'],
    instead: [[/for update skip locked/, '']],
    shows: /has claim \d|ended claims/,
  },
  {
    name: 'a job that succeeded is not kept',
    statements: ['jobs.settle_succeeded'],
    instead: [[/from over\n\s*\), logged/, 'from over where false), logged']],
    shows: /stands in 0 places/,
  },
  {
    name: 'a key is given to the job that comes later',
    statements: ['jobs.enqueue_keyed'],
    instead: [
      [/do update set job_id = job_key\.job_id/, 'do update set job_id = excluded.job_id'],
      [/and key\.created/, ''],
    ],
    shows: /has several jobs/,
  },
  {
    name: 'a cancel takes a job that runs',
    statements: ['jobs.cancel'],
    instead: [
      [/ and wanted\.worker_id is null\n/, '\n'],
      [/wanted\.worker_id is not null/, 'false'],
    ],
    shows: /stands in 0 places/,
  },
]

const MOST_HISTORIES = 40

test.each(mutants)(
  'J08 J95 the histories notice when $name',
  async ({ statements, instead, shows }) => {
    const missed = new Set<string>()
    const rewrite = (name: string, text: string): string => {
      if (!statements.includes(name)) return text
      const mutated = instead.reduce((before, [pattern, other]) => before.replace(pattern, other), text)
      if (mutated === text) missed.add(name)
      return mutated
    }
    const seen: string[] = []
    for (let seed = 0; seed < MOST_HISTORIES && !seen.some((problem) => shows.test(problem)); seed++) {
      const { problems } = await history(db, seed, { rewrite, patienceMs: 2_000 })
      seen.push(...problems)
    }
    // The fault is still one that can be put in.
    expect([...missed]).toEqual([])
    expect(seen.join('\n')).toMatch(shows)
    await db.pool.query('truncate job')
  },
  60_000,
)
