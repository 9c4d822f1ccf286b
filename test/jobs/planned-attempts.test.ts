import { expect, test } from 'vitest'
import { RETRY_MATRIX } from '../../src/jobs/policy.ts'
import { plannedAttempts } from '../../src/jobs/types/index.ts'

const MINUTE = 60_000
const policy = (own: Partial<Parameters<typeof plannedAttempts>[0]>) => ({
  maxAttempts: 3,
  delaysMs: [MINUTE, 2 * MINUTE],
  jitter: 0,
  maxElapsedMs: null,
  rules: {},
  ...own,
})
const latest = (own: Parameters<typeof policy>[0]) => plannedAttempts(policy(own)).map(({ latestMs }) => latestMs)

test('J18 K1 mail is tried after 5 minutes, 15 minutes, 1 hour and 6 hours, and never after the 24', () => {
  const { maxAttempts, delaysMs } = RETRY_MATRIX.MAIL_DELIVERY
  expect(latest({ maxAttempts, delaysMs })).toEqual([0, 5, 20, 80, 440].map((minutes) => minutes * MINUTE))
})

test('J18 the last delay repeats, and one attempt is one attempt', () => {
  expect(latest({ maxAttempts: 5 })).toEqual([0, 1, 3, 5, 7].map((minutes) => minutes * MINUTE))
  expect(latest({ maxAttempts: 1, delaysMs: [] })).toEqual([0])
  expect(latest({ maxAttempts: 2, delaysMs: [] })).toEqual([0, 0])
})

test('J18 a wait is shorter by what is random, never longer', () => {
  expect(plannedAttempts(policy({ jitter: 0.1 }))).toEqual([
    { attempt: 1, earliestMs: 0, latestMs: 0 },
    { attempt: 2, earliestMs: 54_000, latestMs: 60_000 },
    { attempt: 3, earliestMs: 162_000, latestMs: 180_000 },
  ])
})

test('J87 the longest time in all ends it, as soon as an attempt could only begin later', () => {
  expect(latest({ maxAttempts: 5, maxElapsedMs: 3 * MINUTE })).toEqual([0, MINUTE, 3 * MINUTE])
  expect(latest({ maxAttempts: 5, maxElapsedMs: 3 * MINUTE - 1 })).toEqual([0, MINUTE])
})

test('J87 the rule of transient errors counts, and never widens the policy', () => {
  expect(latest({ rules: { TRANSIENT: { maxAttempts: 2, delaysMs: [5] } } })).toEqual([0, 5])
  expect(latest({ rules: { TRANSIENT: { maxAttempts: 9 }, LOST: { maxAttempts: 1 } } }).length).toBe(3)
})
