import { expect, test } from 'vitest'
import { policyOf } from '../../src/jobs/policy.ts'
import { SETTLE, type EndingRow } from '../../src/jobs/sql/settle.ts'
import { attemptsOfJobs, type PolicyOverride } from '../../src/jobs/index.ts'
import { useDatabase } from '../harness/database.ts'
import { enqueueNumbers, TENANT, testJob } from './support.ts'

const db = useDatabase()

const CLASSES = ['TRANSIENT', 'THROTTLED', 'TIMEOUT', 'LOST', 'PERMANENT'] as const
const HOUR = 3_600_000

const own: PolicyOverride = {
  maxAttempts: 3,
  maxLost: 1,
  delaysMs: [1_000, 20_000],
  jitter: 0,
  rules: { THROTTLED: { delaysMs: [60_000] }, TIMEOUT: { maxAttempts: 2 }, LOST: { delaysMs: [500, 700] } },
}
const endless = testJob('test.endless', { policy: own })
const limited = testJob('test.limited', { policy: { ...own, maxElapsedMs: HOUR } })

interface Case {
  readonly kind: EndingRow['kind']
  readonly failureClass: (typeof CLASSES)[number]
  readonly base: number
  /** Of the window. */
  readonly nth: number
  readonly lost: number
  readonly cancel: boolean
  readonly delayMs: number | null
  /** How long ago the window's first attempt began; null: the policy has no limit. */
  readonly elapsedMs: number | null
}

/** What should become of it, in other words than SQL's. */
function expected(c: Case): { status: string; reason: string | null; waitMs: number | null } {
  if (c.kind === 'SUCCEEDED') return { status: 'SUCCEEDED', reason: null, waitMs: null }
  if (c.kind === 'CANCELLED') return { status: 'CANCELLED', reason: c.cancel ? 'no longer wanted' : null, waitMs: null }
  if (c.kind === 'FAILED') return { status: 'FAILED', reason: 'policy.permanent', waitMs: null }
  if (c.cancel) return { status: 'CANCELLED', reason: 'no longer wanted', waitMs: null }
  if (c.kind === 'BACK') return { status: 'SCHEDULED', reason: null, waitMs: c.delayMs }
  const rule = policyOf(endless).rules?.[c.failureClass]
  if (c.kind === 'LOST' && c.lost >= 1) return { status: 'FAILED', reason: 'policy.lost_cap', waitMs: null }
  if (c.nth >= (rule?.maxAttempts ?? 3)) return { status: 'FAILED', reason: 'policy.attempts_used', waitMs: null }
  const delays = rule?.delaysMs ?? own.delaysMs!
  const waitMs = c.delayMs ?? delays[Math.min(c.nth, delays.length) - 1]!
  if (c.elapsedMs !== null && c.elapsedMs + waitMs > HOUR)
    return { status: 'FAILED', reason: 'policy.max_elapsed', waitMs: null }
  return { status: 'RETRY_SCHEDULED', reason: c.delayMs === null ? 'policy.delay' : 'policy.retry_after', waitMs }
}

function* cases(): Generator<Case> {
  for (const kind of ['SUCCEEDED', 'CANCELLED', 'FAILED', 'RETRY', 'BACK', 'LOST'] as const)
    for (const failureClass of kind === 'LOST' ? (['LOST'] as const) : CLASSES)
      for (const base of [0, 4])
        for (const nth of [1, 2, 3])
          for (const lost of [0, 1])
            for (const cancel of [false, true])
              for (const delayMs of kind === 'LOST' ? [null] : [null, 40_000])
                for (const elapsedMs of [null, 60_000, HOUR - 30_000])
                  yield { kind, failureClass, base, nth, lost, cancel, delayMs, elapsedMs }
}

test('J07 J18 J23 J48 J87 K7 what becomes of an attempt: every kind, class, count, loss, cancel, window and time', async () => {
  const all = [...cases()]
  const ids = new Map<Case, string>()
  for (const job of [endless, limited]) {
    const those = all.filter((c) => (c.elapsedMs === null) === (job === endless))
    const made = await enqueueNumbers(
      db,
      job,
      those.map((_, n) => n),
    )
    those.forEach((c, n) => ids.set(c, made[n]!))
  }
  const given = all.map((c) => ({ ...c, id: ids.get(c)! }))
  await db.pool.query(
    `update job set status = 'PROCESSING', worker_id = gen_random_uuid(), claimed_at = now(), claim_epoch = 1,
       attempt = g.base + g.nth, attempt_base = g.base, lost = g.lost,
       cancel_requested_at = case when g.cancel then now() end,
       cancel_reason = case when g.cancel then 'no longer wanted' end,
       cancel_actor = case when g.cancel then 'somebody' end
     from jsonb_to_recordset($1::jsonb) as g(id uuid, base int, nth int, lost int, cancel boolean)
     where job.id = g.id`,
    [JSON.stringify(given)],
  )
  // The window's first attempt; an older window and what spent no attempt do not count.
  await db.pool.query(
    `insert into job_event (epoch, job_id, tenant_id, type, attempt, claim_epoch, "from", "to", actor, started_at,
       recorded_at, correlation_id)
     select event_log_current_epoch(), g.id, $2, 'test.limited', g.base + o.nth, 1, 'PROCESSING', o."to", 'system',
       now() - o.ago, now(), 'c'
     from jsonb_to_recordset($1::jsonb) as g(id uuid, base int, "elapsedMs" float8)
     cross join lateral (values
       (0, 'FAILED', interval '9 hours'), (1, 'SCHEDULED', interval '8 hours'),
       (1, 'RETRY_SCHEDULED', "elapsedMs" * interval '1 millisecond')) as o(nth, "to", ago)
     where g."elapsedMs" is not null and (o.nth > 0 or g.base > 0)`,
    [JSON.stringify(given), TENANT],
  )
  const endings = given.map(({ id, kind, failureClass, delayMs }) => ({
    id,
    claimEpoch: 1,
    kind,
    delayMs,
    failureClass: kind === 'SUCCEEDED' || kind === 'CANCELLED' || kind === 'BACK' ? null : failureClass,
    code: 'test.code',
    message: 'said',
    stack: null,
    reason: null,
    output: null,
    ranMs: 5,
  }))
  const settled = new Map((await db.database.run(SETTLE, [JSON.stringify(endings)])).map((row) => [row.id, row]))
  expect(settled.size).toBe(all.length)
  const histories = await attemptsOfJobs(db.database, TENANT, [...settled.keys()])
  for (const c of all) {
    const row = settled.get(ids.get(c)!)!
    const last = histories.get(row.id)!.find((attempt) => attempt.reason !== null)
    const want = expected(c)
    const said = JSON.stringify(c)
    expect(row.status, said).toBe(want.status)
    expect(row.maxAttempts, said).toBe(c.base + 3)
    expect(last?.reason ?? null, said).toBe(want.reason)
    const quarantined = want.reason === 'policy.lost_cap'
    expect(row.code, said).toBe(quarantined ? 'job.quarantined' : 'test.code')
    if (want.status === 'RETRY_SCHEDULED') {
      const history = histories.get(row.id)!.find((attempt) => attempt.reason !== null)!
      // Both are cut to milliseconds.
      expect(Math.abs(row.due!.getTime() - history.endedAt.getTime() - want.waitMs!), said).toBeLessThanOrEqual(1)
    }
  }
})
