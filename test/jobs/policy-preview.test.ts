import { expect, test } from 'vitest'
import { RETRY_MATRIX } from '../../src/jobs/policy.ts'
import { SETTLE, type EndingRow } from '../../src/jobs/sql/settle.ts'
import { policyPreview, type PolicyPreview } from '../../src/jobs/types/index.ts'
import { useDatabase } from '../harness/database.ts'
import { enqueueNumbers, testJob } from './support.ts'

const db = useDatabase()

const MINUTE = 60_000
type Plan = Parameters<typeof policyPreview>[0]
const plan = (own: Partial<Plan>): Plan => ({
  maxAttempts: 3,
  maxLost: 2,
  delaysMs: [MINUTE, 2 * MINUTE],
  jitter: 0,
  timeoutMs: 10_000,
  maxElapsedMs: null,
  rules: {},
  ...own,
})
const preview = (own: Partial<Plan>, failureClass: PolicyPreview['failureClass'] = 'TRANSIENT') =>
  policyPreview(plan(own)).find((one) => one.failureClass === failureClass)!
const latest = (...of: Parameters<typeof preview>) => preview(...of).attempts.map(({ latestMs }) => latestMs)

test('J18 K1 mail is tried after 5 minutes, 15 minutes, 1 hour and 6 hours, and never after the 24', () => {
  const { maxAttempts, delaysMs } = RETRY_MATRIX.MAIL_DELIVERY
  expect(latest({ maxAttempts, delaysMs })).toEqual([0, 5, 20, 80, 440].map((minutes) => minutes * MINUTE))
})

test('J18 the last delay repeats, and one attempt is one attempt', () => {
  expect(latest({ maxAttempts: 5 })).toEqual([0, 1, 3, 5, 7].map((minutes) => minutes * MINUTE))
  expect(latest({ maxAttempts: 1, delaysMs: [] })).toEqual([0])
})

test('J18 a wait is shorter by what is random, never longer', () => {
  expect(preview({ jitter: 0.1 }).attempts).toEqual([
    { attempt: 1, earliestMs: 0, latestMs: 0 },
    { attempt: 2, earliestMs: 54_000, latestMs: 60_000 },
    { attempt: 3, earliestMs: 162_000, latestMs: 180_000 },
  ])
})

test('J87 the longest time in all ends it, as soon as an attempt could only begin later', () => {
  expect(latest({ maxAttempts: 5, maxElapsedMs: 3 * MINUTE })).toEqual([0, MINUTE, 3 * MINUTE])
  expect(latest({ maxAttempts: 5, maxElapsedMs: 3 * MINUTE - 1 })).toEqual([0, MINUTE])
  // With luck the third begins in time; it never begins later.
  expect(latest({ jitter: 0.5, maxElapsedMs: 2 * MINUTE })).toEqual([0, MINUTE, 2 * MINUTE])
})

test('J87 the rule of a class counts for that class, and never widens the policy', () => {
  const rules = { TRANSIENT: { maxAttempts: 2, delaysMs: [5] }, THROTTLED: { maxAttempts: 9 } }
  expect(latest({ rules })).toEqual([0, 5])
  expect(latest({ rules }, 'THROTTLED')).toEqual([0, MINUTE, 3 * MINUTE])
  expect(latest({ rules }, 'LOST')).toEqual([0, MINUTE, 3 * MINUTE])
})

test('J48 an attempt that times out takes the time-out', () => {
  expect(latest({}, 'TIMEOUT')).toEqual([0, 70_000, 200_000])
})

const PLANS: readonly Plan[] = [
  plan({}),
  plan({ maxAttempts: 1, delaysMs: [] }),
  plan({ maxAttempts: 6, maxLost: 1, delaysMs: [1_000] }),
  plan({ maxAttempts: 3, maxLost: 3 }),
  plan({ maxAttempts: 5, maxElapsedMs: 4 * MINUTE }),
  plan({ maxAttempts: 5, maxElapsedMs: 150_000, delaysMs: [30_000, MINUTE], timeoutMs: 25_000 }),
  plan({
    maxAttempts: 6,
    rules: { TRANSIENT: { maxAttempts: 2 }, THROTTLED: { delaysMs: [5_000] }, LOST: { maxAttempts: 1 } },
  }),
]

const KINDS: Readonly<Record<PolicyPreview['failureClass'], EndingRow['kind']>> = {
  PERMANENT: 'FAILED',
  TRANSIENT: 'RETRY',
  THROTTLED: 'RETRY',
  TIMEOUT: 'RETRY',
  LOST: 'LOST',
  CANCELLED: 'CANCELLED',
}

/** Ends attempts of one class until the job is over. */
async function lived({ maxElapsedMs, ...own }: Plan, failureClass: PolicyPreview['failureClass']) {
  const policy = { ...own, motivation: 'A test.', ...(maxElapsedMs === null ? {} : { maxElapsedMs }) }
  const job = testJob('test.preview', { timeoutMs: own.timeoutMs, policy: policy as never })
  const [id] = await enqueueNumbers(db, job, [1])
  const tookMs = failureClass === 'TIMEOUT' ? own.timeoutMs : 0
  for (let attempt = 1, beganMs = 0, attempts = [{ attempt, earliestMs: 0, latestMs: 0 }]; ; ) {
    await db.pool.query(
      `update job set status = 'PROCESSING', worker_id = gen_random_uuid(), claimed_at = now(), attempt = attempt + 1,
         claim_epoch = claim_epoch + 1 where id = $1`,
      [id],
    )
    const ending: EndingRow = {
      id: id!,
      claimEpoch: attempt,
      kind: KINDS[failureClass],
      delayMs: null,
      failureClass,
      code: 'test.code',
      message: 'said',
      stack: null,
      reason: null,
      output: null,
      // As if it had begun with the first: nothing here takes real time.
      ranMs: beganMs + tookMs,
    }
    const [settled] = await db.database.run(SETTLE, [JSON.stringify([ending])])
    const { rows } = await db.pool.query(
      `select reason, (extract(epoch from next_attempt_at - recorded_at) * 1000)::int as "waitMs" from job_event
       where job_id = $1 order by claim_epoch desc limit 1`,
      [id],
    )
    const [{ reason, waitMs }] = rows
    if (settled!.status !== 'RETRY_SCHEDULED') return { failureClass, attempts, status: settled!.status, reason }
    beganMs += tookMs + Math.round(waitMs / 100) * 100
    attempts = [...attempts, { attempt: ++attempt, earliestMs: beganMs, latestMs: beganMs }]
  }
}

test('J18 J48 J87 K7 what is previewed is what the settling statement does', async () => {
  for (const own of PLANS)
    for (const expected of policyPreview(own))
      expect(await lived(own, expected.failureClass), JSON.stringify(own)).toEqual(expected)
})
