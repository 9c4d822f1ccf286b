import { randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createBatch } from '../../../src/jobs/batches/index.ts'
import { encodeId } from '../../../src/schema/id.ts'
import { enqueueNumbers, range } from '../../jobs/support.ts'
import { OPERATOR, useApi, type Answer, type Asking } from '../api.ts'
import type { Json } from '../json.ts'
import { codeOf, DEFINITIONS, operate, WAITS } from './operators.ts'

const api = useApi(DEFINITIONS)
let acme: Asking

beforeAll(async () => {
  acme = await api.tenant('Acme')
  await api.db.pool.query(
    `insert into job_policy (id, class, max_attempts, max_lost, delays_ms, jitter, timeout_ms)
     values (1, 'FOLLOW_UP', 3, 2, '{60000}', 0, 1000) on conflict do nothing`,
  )
  await api.db.pool.query(
    `insert into job_type (type, class, policy_name, policy_id, payload_version)
     values ('api.waits', 'FOLLOW_UP', 'follow-up', 1, 1)`,
  )
})

const capitalized = (name: string) => name.charAt(0).toUpperCase() + name.slice(1)
const acts = async (filter: Json): Promise<Json[]> =>
  (
    await operate(
      api,
      `query($filter: OperatorActsFilter) { operatorActs(filter: $filter) { nodes {
         act actor reason jobType schedule batchId before after refusalCode } } }`,
      { filter: { isRefused: false, ...filter } },
    )
  ).operatorActs.nodes

async function perform(mutation: string, input: Json, selection: string): Promise<Json> {
  const { data, errors }: Answer = await api.ask(
    OPERATOR,
    `mutation($input: ${capitalized(mutation)}Input!) { result: ${mutation}(input: $input) { __typename
       ... on ${capitalized(mutation)}Success { eventCursor ${selection} } ... on UserError { code path message } } }`,
    { input },
  )
  expect(errors).toBeUndefined()
  return data!['result']
}

async function written(): Promise<string> {
  const { rows } = await api.db.pool.query(
    `select (select json_agg(t order by type)::text from job_type t) as types, (select count(*) from job_act) as acts,
       (select json_agg(s order by name)::text from job_schedule s) as schedules, (select count(*) from job_slot) as slots,
       (select json_agg(b order by id)::text from job_batch b) as batches, (select count(*) from job_event) as events,
       (select count(*) from event) as told`,
  )
  return JSON.stringify(rows)
}

describe('J75 J76 pausing a type', () => {
  const pause = (reason = 'The service is down.', name = 'api.waits') =>
    perform('pauseJobType', { name, reason }, 'jobType { type pausedAt pausedReason workerCount } actUuid')
  const resume = () =>
    perform(
      'resumeJobType',
      { name: 'api.waits', reason: 'It is back.' },
      'jobType { type pausedAt pausedReason workerCount } actUuid',
    )

  test('J76 J86 is done once, audited with before and after, and told to whoever follows', async () => {
    const stream = await api.follow(
      OPERATOR,
      'subscription { operatorEvents { __typename ... on JobTypeChanged { type jobType actor } } }',
    )
    await stream.next()
    expect(await pause()).toMatchObject({
      __typename: 'PauseJobTypeSuccess',
      jobType: { type: 'api.waits', pausedAt: expect.any(String), pausedReason: 'The service is down.' },
    })
    expect((await stream.next()).value.data.operatorEvents).toEqual({
      __typename: 'JobTypeChanged',
      type: 'job.type.paused',
      jobType: 'api.waits',
      actor: 'root',
    })
    await stream.return?.()
    expect(await pause()).toMatchObject({ __typename: 'ConflictError', code: 'job.type_paused' })
    const { jobAlerts } = await operate(api, '{ jobAlerts { paused { type pausedAt pausedBy reason } } }')
    expect(jobAlerts.paused).toEqual([
      { type: 'api.waits', pausedAt: expect.any(String), pausedBy: 'root', reason: 'The service is down.' },
    ])
    expect(await resume()).toMatchObject({ __typename: 'ResumeJobTypeSuccess' })
    expect(await resume()).toMatchObject({ __typename: 'ConflictError', code: 'job.type_not_paused' })
    // Told from the act's own cursor: nothing of the act, everything since.
    const { eventCursor } = await pause()
    await resume()
    const later = await api.follow(
      OPERATOR,
      'subscription($after: EventCursor) { operatorEvents(after: $after) { ... on JobTypeChanged { type } } }',
      { after: eventCursor },
    )
    let told: Json
    do told = (await later.next()).value.data.operatorEvents
    while (told.type === undefined)
    expect(told.type).toBe('job.type.resumed')
    await later.return?.()
    expect(await acts({ jobType: 'api.waits', isRefused: true })).toMatchObject([
      { act: 'RESUME_TYPE', reason: 'It is back.', refusalCode: 'job.type_not_paused', after: null },
      { act: 'PAUSE_TYPE', actor: 'root', refusalCode: 'job.type_paused', after: null },
    ])
    expect((await acts({ jobType: 'api.waits' })).slice(2)).toMatchObject([
      { act: 'RESUME_TYPE', reason: 'It is back.', before: { paused: true }, after: { paused: false } },
      { act: 'PAUSE_TYPE', actor: 'root', before: { paused: false }, after: { paused: true } },
    ])
  })

  test.each<[string, string, string, string]>([
    ['a blank reason', ' ', 'api.waits', 'ValidationError'],
    ['a reason without end', 'x'.repeat(501), 'api.waits', 'ValidationError'],
    ['a type that nobody declared', 'Why', 'api.nothing', 'NotFoundError'],
    ['no type', 'Why', '', 'ValidationError'],
    ['a type that no column holds', 'Why', 'a\0', 'ValidationError'],
  ])('R15 with %s is refused, and nothing is written', async (_name, reason, name, refusal) => {
    const before = await written()
    expect((await pause(reason, name)).__typename).toBe(refusal)
    expect(await written()).toBe(before)
  })
})

describe('J78 job types', () => {
  const FIELDS = `type class motivation idempotency payloadVersion dependency maxRunning maxRunningPerTenant rateCount
    ratePerMs pausedAt failingSinceAt workerCount breakers { dependency state failureCount openedAt nextProbeAt }
    policy { name version maxAttempts maxLost delaysMs jitterPercent timeoutMs maxElapsedMs
      rules { failureClass maxAttempts delaysMs } preview { failureClass status reason attempts { attempt earliestMs latestMs } } }`

  test('J17 J25 J78 J87 show everything that was declared, with the schedule of their attempts, their breakers and workers', async () => {
    await api.db.pool.query(
      `insert into job_policy (id, class, max_attempts, max_lost, delays_ms, jitter, timeout_ms, max_elapsed_ms, rules)
       values (7, 'MAIL_DELIVERY', 6, 2, '{300000,900000,3600000}', 0.1, 20000, 4000000, '{"THROTTLED": {"maxAttempts": 4, "delaysMs": [60000]}}')`,
    )
    await api.db.pool.query(`insert into job_policy_version (name, version, policy_id) values ('mail', 3, 7)`)
    await api.db.pool.query(
      `insert into job_type (type, class, policy_name, policy_id, payload_version, idempotency, motivation, dependency,
         max_running, max_running_per_tenant, rate_jobs, rate_per_ms, failing_since)
       values ('api.mail', 'MAIL_DELIVERY', 'mail', 7, 2, 'One key per mail.', 'The provider is often away.', 'smtp', 10, 2, 5, 1000, now())`,
    )
    await api.db.pool.query(
      `insert into job_breaker (type, dependency, state, failures, trips, opened_at, open_until)
       values ('api.mail', 'smtp', 'OPEN', 5, 1, now(), now() + interval '30 seconds'), ('api.mail', 'calm', 'CLOSED', 0, 0, null, null)`,
    )
    const worker = (types: string, lease: string) =>
      api.db.pool.query(
        `insert into job_worker (id, process, slot, lease_until, types) values (gen_random_uuid(), 'test', 0, now() + $2::interval, $1)`,
        [types, lease],
      )
    await worker('{"api.mail": 2}', '1 hour')
    await worker('{"api.mail": 3, "api.other": 1}', '1 hour')
    await worker('{"api.mail": 1}', '1 hour')
    await worker('{"api.mail": 2}', '-1 second')
    await worker('{"api.other": 1}', '1 hour')

    const { jobTypes } = await operate(api, `{ jobTypes { ${FIELDS} } }`)
    expect(jobTypes.map(({ type }: Json) => type)).toEqual(['api.mail', 'api.waits'])
    expect(jobTypes[0]).toEqual({
      type: 'api.mail',
      class: 'MAIL_DELIVERY',
      motivation: 'The provider is often away.',
      idempotency: 'One key per mail.',
      payloadVersion: 2,
      dependency: 'smtp',
      maxRunning: 10,
      maxRunningPerTenant: 2,
      rateCount: 5,
      ratePerMs: 1000,
      pausedAt: null,
      failingSinceAt: expect.any(String),
      workerCount: 2,
      breakers: [
        {
          dependency: 'smtp',
          state: 'OPEN',
          failureCount: 5,
          openedAt: expect.stringMatching(/Z$/),
          nextProbeAt: expect.stringMatching(/Z$/),
        },
      ],
      policy: {
        name: 'mail',
        version: 3,
        maxAttempts: 6,
        maxLost: 2,
        delaysMs: [300_000, 900_000, 3_600_000],
        jitterPercent: 10,
        timeoutMs: 20_000,
        maxElapsedMs: '4000000',
        rules: [{ failureClass: 'THROTTLED', maxAttempts: 4, delaysMs: [60_000] }],
        preview: expect.any(Array),
      },
    })
    const preview = new Map(jobTypes[0].policy.preview.map((one: Json) => [one.failureClass, one]))
    expect([...preview.keys()]).toEqual(['PERMANENT', 'TRANSIENT', 'THROTTLED', 'TIMEOUT', 'LOST', 'CANCELLED'])
    expect(preview.get('TRANSIENT')).toEqual({
      failureClass: 'TRANSIENT',
      status: 'FAILED',
      reason: 'policy.max_elapsed',
      attempts: [
        { attempt: 1, earliestMs: '0', latestMs: '0' },
        { attempt: 2, earliestMs: '270000', latestMs: '300000' },
        { attempt: 3, earliestMs: '1080000', latestMs: '1200000' },
      ],
    })
    expect(preview.get('THROTTLED')).toMatchObject({ reason: 'policy.attempts_used' })
    expect(preview.get('CANCELLED')).toMatchObject({ status: 'CANCELLED', reason: null })
    expect(jobTypes[1]).toMatchObject({
      workerCount: 0,
      breakers: [],
      policy: { name: 'follow-up', version: 1, preview: expect.any(Array) },
    })
  })
})

describe('J75 J76 J78 schedules', () => {
  const SHOWN = `name cron everyMs timeZone dstGap dstOverlap missed missedLimit overlap jobType nextSlotAt overdueMs
    pausedAt pausedBy pausedReason lastRun { slotAt outcome jobId runBy }`
  let name: string

  beforeEach(async () => {
    name = `api.s${randomUUID().replaceAll(/[^a-f]/g, '')}`
    await api.db.pool.query(
      `insert into job_schedule (name, cron, time_zone, job_type, payload, next_slot)
       values ($1, '30 2 * * *', 'Europe/Amsterdam', 'api.waits', '{"n": 7}', now() + interval '1 hour')`,
      [name],
    )
  })
  const shown = async (): Promise<Json> =>
    (await operate(api, `{ jobSchedules { ${SHOWN} } }`)).jobSchedules.find((one: Json) => one.name === name)

  test('J78 are shown with their rules and their next firings, changes of clocks and all', async () => {
    expect(await shown()).toMatchObject({
      cron: '30 2 * * *',
      everyMs: null,
      timeZone: 'Europe/Amsterdam',
      dstGap: 'RUN_AFTER',
      dstOverlap: 'ONCE',
      missed: 'RUN_LAST',
      overlap: 'SKIP',
      jobType: 'api.waits',
      overdueMs: '0',
      pausedAt: null,
      lastRun: null,
    })
    const { jobSchedules } = await operate(
      api,
      '{ jobSchedules { name nextFirings(first: 20) { firesAt localTime dst note } } }',
    )
    const { nextFirings } = jobSchedules.find((one: Json) => one.name === name)
    expect(nextFirings.length).toBe(20)
    const moments = nextFirings.map(({ firesAt }: Json) => firesAt)
    expect(moments).toEqual([...new Set<string>(moments)].toSorted())
    expect(nextFirings[0].localTime).toMatch(/T02:30:00\+0[12]:00$|T03:00:00\+02:00$/)
  })

  test('R15 as many firings as nobody needs are refused', async () => {
    for (const first of [0, -1, 21, 1_000_000])
      expect(codeOf(await api.ask(OPERATOR, `{ jobSchedules { nextFirings(first: ${first}) { firesAt } } }`))).toBe(
        'BAD_USER_INPUT',
      )
  })

  test('J75 are paused and resumed, each once and audited', async () => {
    const paused = await perform('pauseJobSchedule', { name, reason: 'Holiday.' }, `schedule { ${SHOWN} }`)
    expect(paused.schedule).toMatchObject({ pausedAt: expect.any(String), pausedBy: 'root', pausedReason: 'Holiday.' })
    expect((await perform('pauseJobSchedule', { name, reason: 'Holiday.' }, 'actUuid')).code).toBe(
      'job.schedule_paused',
    )
    await api.db.pool.query(`update job_schedule set next_slot = now() - interval '1 hour' where name = $1`, [name])
    expect((await shown()).overdueMs).toBe('0')
    const resumed = await perform('resumeJobSchedule', { name, reason: 'Over.' }, `schedule { pausedAt overdueMs }`)
    expect(resumed.schedule.pausedAt).toBeNull()
    expect((await perform('resumeJobSchedule', { name, reason: 'Over.' }, 'actUuid')).code).toBe(
      'job.schedule_not_paused',
    )
    expect((await acts({ schedule: name })).map(({ act }) => act)).toEqual(['RESUME_SCHEDULE', 'PAUSE_SCHEDULE'])
    expect((await acts({ schedule: name, isRefused: true })).map(({ act, refusalCode }) => [act, refusalCode])).toEqual(
      [
        ['RESUME_SCHEDULE', 'job.schedule_not_paused'],
        ['PAUSE_SCHEDULE', 'job.schedule_paused'],
      ],
    )
  })

  test('J75 J90 are run now: a job for the installation, told in the audit and in the schedule', async () => {
    const run = await perform('runJobScheduleNow', { name, reason: 'Cannot wait.' }, `jobId schedule { ${SHOWN} }`)
    expect(run.__typename).toBe('RunJobScheduleNowSuccess')
    const { job } = await operate(api, 'query($id: ID) { job(id: $id) { type tenantUuid status } }', { id: run.jobId })
    expect(job).toEqual({ type: 'api.waits', tenantUuid: null, status: 'SCHEDULED' })
    expect(run.schedule.lastRun).toMatchObject({ outcome: 'FIRED', runBy: 'root', jobId: run.jobId })
    expect((await acts({ schedule: name })).map(({ act, reason }) => [act, reason])).toEqual([
      ['RUN_SCHEDULE', 'Cannot wait.'],
    ])
  })

  test.each(['pauseJobSchedule', 'resumeJobSchedule', 'runJobScheduleNow'])(
    'R15 %s of nothing or without a reason is refused, and nothing is written',
    async (mutation) => {
      const before = await written()
      expect((await perform(mutation, { name: 'api.nothing', reason: 'Why' }, 'actUuid')).__typename).toBe(
        'NotFoundError',
      )
      expect((await perform(mutation, { name, reason: '' }, 'actUuid')).__typename).toBe('ValidationError')
      expect((await perform(mutation, { name: 'x'.repeat(201), reason: 'Why' }, 'actUuid')).__typename).toBe(
        'ValidationError',
      )
      expect(await written()).toBe(before)
    },
  )

  test('J86 what should have fired and did not is overdue', async () => {
    await api.db.pool.query(`update job_schedule set next_slot = now() - interval '2 minutes' where name = $1`, [name])
    expect(Number((await shown()).overdueMs)).toBeGreaterThanOrEqual(120_000)
  })

  test('J86 so is what engines do on the spot, by the last time that one of them did it', async () => {
    await api.db.pool.query(
      `update job_schedule set cron = null, every_ms = 60000, job_type = null, next_slot = null where name = $1`,
      [name],
    )
    expect((await shown()).overdueMs).toBe('0')
    const last = (ago: string) =>
      api.db.pool.query(`insert into job_slot (schedule, slot, outcome) values ($1, now() - $2::interval, 'FIRED')`, [
        name,
        ago,
      ])
    await last('10 minutes')
    const late = Number((await shown()).overdueMs)
    expect(late).toBeGreaterThanOrEqual(540_000)
    expect(late).toBeLessThan(600_000)
    await last('30 seconds')
    expect((await shown()).overdueMs).toBe('0')
  })
})

describe('J75 J76 batches', () => {
  const FIELDS =
    'id uuid tenantUuid label triggeredBy createdAt cancelledAt cancelledBy cancelReason counts { status jobCount }'
  async function batchOf(count: number): Promise<{ id: string; jobs: string[] }> {
    const batchId = await api.db.database.transaction(acme.tenantId!, (tx) =>
      createBatch(tx, {
        tenantId: acme.tenantId,
        label: 'Invitations of June',
        correlationId: 'corr-batch',
        triggeredBy: 'ada',
      }),
    )
    const jobs = await enqueueNumbers(api.db, WAITS, range(count), {
      tenantId: acme.tenantId,
      runAt: new Date('2098-01-01T00:00:00Z'),
    })
    await api.db.pool.query('update job set batch_id = $1 where id = any($2)', [batchId, jobs])
    return { id: encodeId('JobBatch', batchId), jobs }
  }

  test('J10 are listed and found with the numbers of their jobs, and their jobs by them', async () => {
    const { id, jobs } = await batchOf(3)
    await batchOf(1)
    const { jobBatch } = await operate(api, `query($id: ID!) { jobBatch(id: $id) { ${FIELDS} } }`, { id })
    expect(jobBatch).toMatchObject({
      id,
      tenantUuid: acme.tenantId,
      label: 'Invitations of June',
      triggeredBy: 'ada',
      cancelledAt: null,
      counts: [{ status: 'SCHEDULED', jobCount: 3 }],
    })
    const { jobBatches } = await operate(
      api,
      `query($f: JobBatchesFilter) { jobBatches(filter: $f, first: 1) { pageInfo { hasNextPage } nodes { ${FIELDS} } } }`,
      { f: { tenantUuid: acme.tenantId, isCancelled: false } },
    )
    expect([jobBatches.pageInfo.hasNextPage, jobBatches.nodes.length]).toEqual([true, 1])
    const found = await operate(
      api,
      'query($f: OperatedJobsFilter) { jobs(filter: $f) { nodes { uuid batch { id } } } }',
      { f: { batchId: id } },
    )
    expect(found.jobs.nodes.map(({ uuid }: Json) => uuid).toSorted()).toEqual(jobs.toSorted())
    expect(found.jobs.nodes[0].batch.id).toBe(id)
    const nobody = encodeId('JobBatch', randomUUID())
    expect((await operate(api, 'query($id: ID!) { jobBatch(id: $id) { id } }', { id: nobody })).jobBatch).toBeNull()
  })

  test('J75 J76 are cancelled as a whole: once, audited, each job of it too', async () => {
    const { id, jobs } = await batchOf(3)
    const input = { batchId: id, bulkUuid: randomUUID(), reason: 'The list was wrong.' }
    const selection = `batch { ${FIELDS} } bulkUuid selectedCount actedCount goneCount refusedCount hasMore`
    const result = await perform('cancelJobBatch', input, selection)
    expect(result).toMatchObject({
      __typename: 'CancelJobBatchSuccess',
      actedCount: 3,
      batch: {
        cancelledAt: expect.any(String),
        cancelledBy: 'root',
        cancelReason: 'The list was wrong.',
        counts: [{ status: 'CANCELLED', jobCount: 3 }],
      },
    })
    const before = await written()
    expect(await perform('cancelJobBatch', input, 'actedCount')).toMatchObject({ actedCount: 3 })
    expect(await written()).toBe(before)
    expect((await acts({ jobId: encodeId('OperatedJob', jobs[0]!) })).map(({ act }) => act)).toEqual(['CANCEL'])
  })

  test('R15 with nonsense nothing is written', async () => {
    const { id } = await batchOf(1)
    const before = await written()
    const nobody = encodeId('JobBatch', randomUUID())
    const input = { bulkUuid: randomUUID(), reason: 'Why' }
    expect((await perform('cancelJobBatch', { ...input, batchId: nobody }, 'actedCount')).__typename).toBe(
      'NotFoundError',
    )
    expect((await perform('cancelJobBatch', { ...input, batchId: id, reason: ' ' }, 'actedCount')).__typename).toBe(
      'ValidationError',
    )
    expect(await written()).toBe(before)
  })
})
