import { beforeEach, expect, test } from 'vitest'
import {
  ALERT_RULE,
  cancelJobs,
  evaluateAlerts,
  failed,
  INSTALLATION,
  jobAlerts,
  listActs,
  pauseType,
  resumeType,
  rollUpCounts,
} from '../../../src/jobs/index.ts'
import { useDatabase } from '../../harness/database.ts'
import { enqueueNumbers, range, TENANT, testJob, useEngines } from '../support.ts'

const db = useDatabase()
const engines = useEngines(db)
const by = { actor: 'olga', reason: 'The provider is down.', correlationId: 'op-1' }

const declared = (type: string) =>
  db.pool
    .query(
      `insert into job_policy (id, class, max_attempts, max_lost, delays_ms, jitter, timeout_ms)
     values (1, 'FOLLOW_UP', 1, 2, '{}', 0, 1000) on conflict do nothing`,
    )
    .then(() =>
      db.pool.query(
        `insert into job_type (type, class, policy_name, policy_id, payload_version) values ($1, 'FOLLOW_UP', 'x', 1, 1)
       on conflict do nothing`,
        [type],
      ),
    )

const said = async (type: string) =>
  (
    await db.pool.query(
      `select type, reason, data, sequence, actor from event
       where tenant_id = $1 and subject_kind = 'job_type' and data ->> 'type' = $2 order by sequence`,
      [INSTALLATION, type],
    )
  ).rows

beforeEach(() => db.pool.query('delete from job_ended_lately'))

/** As the roll-up would have written it, so many minutes ago. */
const ended = (type: string, failures: number, successes: number, minutesAgo = 0) =>
  db.pool.query(
    `insert into job_ended_lately (type, minute, failed, ended)
     values ($1, date_trunc('minute', now()) - $4::int * interval '1 minute', $2, $3)`,
    [type, failures, failures + successes, minutesAgo],
  )

test('J86 a type that keeps failing is raised once, over any number of processes, and taken back once', async () => {
  await declared('alert.failing')
  await ended('alert.failing', 6, 5)
  const evaluated = await Promise.all(range(5).map(() => evaluateAlerts(db.database)))
  expect(evaluated.flatMap(({ raised }) => raised)).toEqual(['alert.failing'])
  expect((await jobAlerts(db.database)).failingTypes).toMatchObject([{ type: 'alert.failing' }])
  // A third of what ended still fails: better, but not over.
  await ended('alert.failing', 0, 7, 1)
  expect(await evaluateAlerts(db.database)).toEqual({ raised: [], recovered: [] })
  await ended('alert.failing', 0, 10, 2)
  const after = await Promise.all(range(5).map(() => evaluateAlerts(db.database)))
  expect(after.flatMap(({ recovered }) => recovered)).toEqual(['alert.failing'])
  expect((await jobAlerts(db.database)).failingTypes).toEqual([])
  expect(await said('alert.failing')).toMatchObject([
    { type: 'job.type.failing', reason: 'job.type.failures', data: { failed: 6, ended: 11 }, actor: 'system' },
    { type: 'job.type.recovered', reason: null },
  ])
})

test.each([
  ['too few failures', 4, 0, 0],
  ['not more than half of what ended', 5, 5, 0],
  ['longer ago than the window', 9, 0, ALERT_RULE.windowMinutes + 1],
])('J86 no alert: %s', async (_, failures, successes, minutesAgo) => {
  const type = `alert.calm_${failures}_${minutesAgo}`
  await declared(type)
  await ended(type, failures, successes, minutesAgo)
  expect((await evaluateAlerts(db.database)).raised).toEqual([])
})

test('J86 J91 failures of real jobs reach the alert through the roll-up', async () => {
  const job = testJob('alert.real', { run: async () => failed('alert.no', 'It cannot be.') })
  await declared('alert.real')
  const { signals } = await engines.start([job])
  await enqueueNumbers(db, job, range(ALERT_RULE.failures))
  await signals.ended(ALERT_RULE.failures)
  // Again and again: the engine itself may be adding up at this very moment, and then nobody waits for it.
  await expect
    .poll(async () => {
      await rollUpCounts(db.database)
      await evaluateAlerts(db.database)
      return (await jobAlerts(db.database)).failingTypes
    })
    .toMatchObject([{ type: 'alert.real' }])
})

test('J86 a type whose oldest due job waits too long is failing, unless it is paused', async () => {
  const job = testJob('alert.overdue')
  await declared('alert.overdue')
  const ids = await enqueueNumbers(db, job, [1], { runAt: new Date('2026-01-01T00:00:00Z') })
  await pauseType({ database: db.database }, 'alert.overdue', by)
  expect((await evaluateAlerts(db.database)).raised).toEqual([])
  expect(await jobAlerts(db.database)).toMatchObject({
    pausedTypes: [{ type: 'alert.overdue', by: 'olga', reason: by.reason }],
    oldestDue: expect.arrayContaining([{ type: 'alert.overdue', waitingMs: expect.any(Number) }]),
  })
  await resumeType({ database: db.database }, 'alert.overdue', by)
  expect((await evaluateAlerts(db.database)).raised).toEqual(['alert.overdue'])
  await cancelJobs(db.database, { tenantId: TENANT, jobIds: ids, reason: 'x', actor: 'y' })
  expect((await evaluateAlerts(db.database)).recovered).toContain('alert.overdue')
  expect((await said('alert.overdue')).map(({ type }) => type)).toEqual([
    'job.type.paused',
    'job.type.resumed',
    'job.type.failing',
    'job.type.recovered',
  ])
})

test('J75 J76 a pause is audited and said once, whoever asks at the same time', async () => {
  await declared('alert.paused')
  const results = await Promise.allSettled(
    range(4).map((n) => pauseType({ database: db.database }, 'alert.paused', { ...by, actor: `o${n}` })),
  )
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  for (const result of results)
    if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'job.type_paused' })
  await resumeType({ database: db.database }, 'alert.paused', by)
  await expect(resumeType({ database: db.database }, 'alert.paused', by)).rejects.toMatchObject({
    code: 'job.type_not_paused',
  })
  await expect(pauseType({ database: db.database }, 'alert.nobody', by)).rejects.toMatchObject({
    code: 'job.type_not_found',
  })
  await expect(pauseType({ database: db.database }, 'alert.paused', { ...by, reason: '' })).rejects.toMatchObject({
    path: ['reason'],
  })
  const acts = (await listActs(db.database, { type: 'alert.paused', refused: false }, { limit: 10 })).rows
  expect(acts.map(({ act, before, after }) => [act, before?.['paused'], after?.['paused']])).toEqual([
    ['RESUME_TYPE', true, false],
    ['PAUSE_TYPE', false, true],
  ])
  const refused = (await listActs(db.database, { type: 'alert.paused', refused: true }, { limit: 10 })).rows
  expect(refused.map(({ act, refusal }) => `${act} ${refusal}`)).toEqual([
    'RESUME_TYPE job.type_not_paused',
    ...Array(3).fill('PAUSE_TYPE job.type_paused'),
  ])
})

test('J85 J106 what killed its workers and what is broken is counted for whoever watches', async () => {
  await db.pool.query(
    `insert into job_finished (id, tenant_id, type, status, urgency, attempt, lost, claim_epoch, policy_id, created_at,
       failure_class, code, correlation_id, triggered_by, display_name, payload)
     select gen_random_uuid(), $1, 'alert.killer', 'FAILED', 0, 3, 3, 3, 1, now(), 'LOST', 'job.worker_lost', 'c', 't', 'd', '{}'
     from generate_series(1, 2)`,
    [TENANT],
  )
  await db.pool.query(
    `insert into job_breaker (type, dependency, state, opened_at, open_until)
     values ('alert.mail', 'smtp', 'OPEN', now(), now() + interval '1 minute'), ('alert.mail', 'calm', 'CLOSED', null, null)`,
  )
  const alerts = await jobAlerts(db.database)
  expect(alerts.quarantined).toEqual([{ type: 'alert.killer', jobs: 2 }])
  expect(alerts.openBreakers).toMatchObject([{ type: 'alert.mail', dependency: 'smtp', state: 'OPEN' }])
})
