import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectFolder } from '../../src/database/index.ts'
import { type JobClass, JobRegistry } from '../../src/jobs/index.ts'
import { policyId, policyOf, RETRY_MATRIX } from '../../src/jobs/policy.ts'
import { useDatabase } from '../harness/database.ts'
import { attemptsOfJobs } from '../../src/jobs/index.ts'
import { enqueueNumbers, finished, makeDue, TENANT, testJob, useEngines, waiting } from './support.ts'

const db = useDatabase()
const engines = useEngines(db)

const UNITS: Readonly<Record<string, number>> = { min: 60_000, h: 3_600_000 }

/** The retry matrix as docs/jobs.md prints it. */
function documentedMatrix(): Record<string, { maxAttempts: number; delaysMs: number[] }> {
  const text = readFileSync(join(projectFolder(), 'docs/jobs.md'), 'utf8')
  const rows = [...text.matchAll(/^\| `([A-Z_]+)` \| [^|]+ \| (\d+) \| ([^|]+) \|/gm)]
  return Object.fromEntries(
    rows.map(([, name, attempts, delays]) => [
      name,
      {
        maxAttempts: Number(attempts),
        delaysMs: [...delays!.matchAll(/(\d+) (min|h)\b/g)].map(([, n, unit]) => Number(n) * UNITS[unit!]!),
      },
    ]),
  )
}

test('J17 J101 K2 the code’s retry matrix is the documented one: seven classes', () => {
  expect(documentedMatrix()).toEqual(RETRY_MATRIX)
  expect(Object.keys(RETRY_MATRIX)).toHaveLength(7)
})

test('J20 J21 K3 a periodic check has two attempts, mail the most', () => {
  expect(RETRY_MATRIX.PERIODIC_CHECK.maxAttempts).toBe(2)
  expect(Math.max(...Object.values(RETRY_MATRIX).map((row) => row.maxAttempts))).toBe(
    RETRY_MATRIX.MAIL_DELIVERY.maxAttempts,
  )
})

test.each(Object.keys(RETRY_MATRIX) as JobClass[])(
  'J18 J101 K1 attempts and waits of %s are the matrix’s',
  async (jobClass) => {
    const { maxAttempts, delaysMs } = documentedMatrix()[jobClass]!
    const job = testJob('test.matrix', {
      class: jobClass,
      policy: { jitter: 0 },
      run: () => Promise.reject(new Error('again')),
    })
    const [id] = await enqueueNumbers(db, job, [1])
    const { signals } = await engines.start([job])
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      await signals.first('ENDED', (signal) => signal.jobId === id && signal.attempt === attempt)
      if (attempt === maxAttempts) break
      expect(await waiting(db, id!)).toMatchObject({ status: 'RETRY_SCHEDULED', attempt })
      const history = (await attemptsOfJobs(db.database, TENANT, [id!])).get(id!)!.at(-1)!
      expect(history.nextAttemptAt!.getTime() - history.endedAt.getTime()).toBe(delaysMs[attempt - 1])
      await makeDue(db, id!)
    }
    expect(await finished(db, id!)).toMatchObject({ status: 'FAILED', attempt: maxAttempts })
  },
)

test('jitter shortens a wait by at most its part', async () => {
  const job = testJob('test.jitter', {
    policy: { delaysMs: [100_000], jitter: 0.5 },
    run: () => Promise.reject(new Error('x')),
  })
  const ids = await enqueueNumbers(db, job, [1, 2, 3, 4, 5, 6, 7, 8])
  const { signals } = await engines.start([job])
  await signals.ended(8)
  const histories = await attemptsOfJobs(db.database, TENANT, ids)
  const waits = [...histories.values()].map(
    ([attempt]) => attempt!.nextAttemptAt!.getTime() - attempt!.endedAt.getTime(),
  )
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(50_000)
  expect(Math.max(...waits)).toBeLessThanOrEqual(100_000)
  expect(new Set(waits).size).toBeGreaterThan(1)
})

const refused = (own: Parameters<typeof testJob>[1]) => () => new JobRegistry([testJob('test.refused', own)])
const unsaid = { idempotency: '' }

test.each([
  ['J22 retries without an agreement on idempotency', unsaid, /second run does no harm/],
  [
    'J25 more attempts than the class without a reason',
    { policy: { maxAttempts: 4, delaysMs: [1] } },
    /policy\.motivation/,
  ],
  ['J07 no attempt at all', { policy: { maxAttempts: 0, delaysMs: [1] } }, /whole number from 1/],
  ['no delay', { policy: { delaysMs: [] } }, /no delay/],
  ['a delay that is none', { policy: { delaysMs: [-1] } }, /delaysMs/],
  ['a jitter beyond the delay', { policy: { jitter: 2 } }, /jitter/],
  [
    'a rule wider than its policy',
    { policy: { rules: { LOST: { maxAttempts: 4 } } } },
    /rules\.LOST\.maxAttempts is 4/,
  ],
  ['a rule without a delay', { policy: { rules: { THROTTLED: { delaysMs: [] } } } }, /rules\.THROTTLED\.delaysMs/],
  [
    'a rule for what is never tried again',
    { policy: { rules: { PERMANENT: {} } as never } },
    /rules\.PERMANENT is for no/,
  ],
  ['no time at all', { policy: { maxElapsedMs: 0 } }, /maxElapsedMs is 0/],
  ['a time-out of nothing', { timeoutMs: 0 }, /timeoutMs/],
])('start-up refuses %s', (_, own, message) => {
  expect(refused(own)).toThrow(message)
})

test('J24 J25 J26 lower limits need no reason, wider ones a recorded one', () => {
  expect(refused({ policy: { maxAttempts: 1 }, ...unsaid })).not.toThrow()
  expect(
    refused({ policy: { maxAttempts: 9, delaysMs: [1], motivation: 'The provider fails for hours.' } }),
  ).not.toThrow()
})

test('J17 start-up refuses both handlers, none, a bad type and the same type twice, all at once', () => {
  const both = { ...testJob('test.both'), runMany: async () => [] }
  const { run: _run, ...none } = testJob('test.none')
  const make = () => new JobRegistry([both, none, testJob('NoDots'), testJob('test.twice'), testJob('test.twice')])
  for (const message of [
    /both `run` and `runMany`/,
    /neither `run` nor `runMany`/,
    /area\.action/,
    /another job has this type/,
  ])
    expect(make).toThrow(message)
})

test('a policy’s id is its content’s', () => {
  const policy = policyOf(testJob('test.id'))
  expect(policyId(policy)).toBe(policyId({ ...policy, delaysMs: [...policy.delaysMs] }))
  expect(policyId(policy)).not.toBe(policyId({ ...policy, maxAttempts: policy.maxAttempts + 1 }))
  const limited = { ...policy, maxElapsedMs: 60_000 }
  const [lost, late] = [{ maxAttempts: 1 }, { delaysMs: [5] }]
  expect(policyId(limited)).not.toBe(policyId(policy))
  expect(policyId({ ...limited, rules: { LOST: lost, TIMEOUT: late } })).toBe(
    policyId({ ...limited, rules: { TIMEOUT: late, LOST: lost } }),
  )
  expect(policyId({ ...limited, rules: { LOST: lost } })).not.toBe(policyId(limited))
})
