import { randomUUID } from 'node:crypto'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { encodeId } from '../../../src/schema/id.ts'
import { enqueueNumbers, makeDue, range, useEngines } from '../../jobs/support.ts'
import { OPERATOR, useApi, type Answer, type Asking } from '../api.ts'
import type { Json } from '../json.ts'
import { codeOf, DEFINITIONS, FAILS, GONE, mended, operate, WAITS } from './operators.ts'

const api = useApi(DEFINITIONS)
const engines = useEngines({
  get url() {
    return api.db.url
  },
} as never)
let acme: Asking

beforeAll(async () => {
  acme = await api.tenant('Acme')
})
beforeEach(() => mended.clear())

const idOf = (uuid: string) => encodeId('OperatedJob', uuid)

/** One job of each number that has failed for good. */
async function failedJobs(numbers: readonly number[], correlationId: string = randomUUID()): Promise<string[]> {
  const ids = await enqueueNumbers(api.db, FAILS, numbers, { tenantId: acme.tenantId, correlationId })
  await runAll(numbers.length)
  return ids
}
async function runAll(count: number): Promise<void> {
  const { engine, signals } = await engines.start([FAILS])
  await signals.ended(count)
  await engine.stop(500)
}
const waitingJobs = (count: number, correlationId: string = randomUUID()) =>
  enqueueNumbers(api.db, WAITS, range(count), {
    tenantId: acme.tenantId,
    correlationId,
    runAt: new Date('2098-01-01T00:00:00Z'),
  })

const capitalized = (name: string) => name.charAt(0).toUpperCase() + name.slice(1)
const actOn = (mutation: string, input: Json, as: Asking = OPERATOR): Promise<Answer> =>
  api.ask(
    as,
    `mutation($input: ${capitalized(mutation)}Input!) { result: ${mutation}(input: $input) { __typename
      ... on ${capitalized(mutation)}Success { eventCursor actUuid job { uuid status attempt earlierAttemptCount dueAt isHeld
        resolution reason finishedAt failure { code } } }
      ... on JobActRefusedError { status } ... on UserError { code message path } } }`,
    { input },
  )
const act = async (mutation: string, jobId: string, reason = 'Asked for by the customer.'): Promise<Json> => {
  const { data, errors } = await actOn(mutation, { jobId: idOf(jobId), reason })
  expect(errors).toBeUndefined()
  return data!['result']
}

const ACTS = `query($filter: OperatorActsFilter, $first: Int, $after: String) {
  operatorActs(filter: $filter, first: $first, after: $after) { pageInfo { hasNextPage endCursor } nodes {
    uuid actedAt actor act reason correlationId jobId jobUuid jobType schedule batchId tenantUuid partOfUuid selection before after refusalCode } } }`
/** What was done, unless the filter says otherwise. */
const audit = async (filter: Json, page: Json = {}): Promise<Json[]> =>
  (await operate(api, ACTS, { filter: { isRefused: false, ...filter }, ...page })).operatorActs.nodes

/** Everything that an act may write that is done. */
async function state(): Promise<string> {
  const { rows } = await api.db.pool.query(
    `select (select json_agg(j order by id)::text from job j) as jobs, (select json_agg(f order by id)::text from job_finished f) as over,
       (select count(*) from job_event) as events, (select count(*) from job_act where refusal is null) as acts`,
  )
  return JSON.stringify(rows)
}

describe('J72 J75 J76 J90 J102 acts on one job', () => {
  test('J72 J76 a failed job is tried again: by whom, when, why, and what it was before and after', async () => {
    const [jobId] = await failedJobs([1])
    const result = await act('retryJob', jobId!, '  The service is mended.  ')
    expect(result).toMatchObject({
      __typename: 'RetryJobSuccess',
      job: { uuid: jobId, status: 'SCHEDULED', earlierAttemptCount: 1, finishedAt: null },
    })
    const [entry, ...others] = await audit({ jobId: idOf(jobId!) })
    expect(others).toEqual([])
    expect(entry).toMatchObject({
      uuid: result.actUuid,
      actor: 'root',
      act: 'RETRY',
      reason: 'The service is mended.',
      jobUuid: jobId,
      jobId: idOf(jobId!),
      jobType: 'api.fails',
      tenantUuid: acme.tenantId,
      partOfUuid: null,
      before: { status: 'FAILED' },
      after: { status: 'SCHEDULED' },
    })
    expect(Math.abs(Date.parse(entry.actedAt) - Date.now())).toBeLessThan(60_000)
    mended.add(1)
    await runAll(1)
    expect(
      (await operate(api, 'query($u: UUID) { job(uuid: $u) { status attempts { status actor } } }', { u: jobId })).job,
    ).toEqual({
      status: 'SUCCEEDED',
      attempts: [
        { status: 'FAILED', actor: 'system' },
        { status: 'SCHEDULED', actor: 'root' },
        { status: 'SUCCEEDED', actor: 'system' },
      ],
    })
  })

  test('J31 what its domain no longer wants is not tried again, and the domain says why', async () => {
    const [jobId] = await failedJobs([GONE])
    const before = await state()
    expect(await act('retryJob', jobId!, 'Once more.')).toMatchObject({
      __typename: 'JobActRefusedError',
      code: 'job.no_longer_valid',
      message: expect.stringContaining('The thing that it was for is gone.'),
      status: 'FAILED',
    })
    expect(await state()).toBe(before)
    expect(await audit({ jobId: idOf(jobId!), isRefused: true })).toMatchObject([
      {
        actor: 'root',
        act: 'RETRY',
        reason: 'Once more.',
        jobUuid: jobId,
        jobType: 'api.fails',
        tenantUuid: acme.tenantId,
        refusalCode: 'job.no_longer_valid',
        before: { status: 'FAILED' },
        after: null,
      },
    ])
  })

  test('K5 a failed job is marked as handled', async () => {
    const [jobId] = await failedJobs([2])
    expect(await act('markJobHandled', jobId!, 'Done by hand.')).toMatchObject({
      __typename: 'MarkJobHandledSuccess',
      job: { status: 'CANCELLED', resolution: 'HANDLED', reason: 'Done by hand.' },
    })
    expect(await act('markJobHandled', jobId!)).toMatchObject({ code: 'job.wrong_status', status: 'CANCELLED' })
  })

  test('J75 a waiting job is made due, held, released and cancelled, each once', async () => {
    const [jobId] = await waitingJobs(1)
    expect(await act('holdJob', jobId!)).toMatchObject({ job: { isHeld: true, dueAt: null } })
    expect(await act('holdJob', jobId!)).toMatchObject({ __typename: 'JobActRefusedError', code: 'job.held' })
    expect(await act('releaseJob', jobId!)).toMatchObject({ job: { isHeld: false } })
    expect(await act('releaseJob', jobId!)).toMatchObject({ code: 'job.not_held' })
    const due = (await act('runJobNow', jobId!)).job.dueAt
    expect(Date.parse(due)).toBeLessThan(Date.now() + 60_000)
    expect(await act('cancelJob', jobId!, 'No longer wanted.')).toMatchObject({
      job: { status: 'CANCELLED', reason: 'No longer wanted.', resolution: null },
    })
    expect(await act('cancelJob', jobId!)).toMatchObject({ code: 'job.wrong_status', status: 'CANCELLED' })
    expect((await audit({ jobId: idOf(jobId!) })).map((entry) => entry.act)).toEqual([
      'CANCEL',
      'RUN_NOW',
      'RELEASE',
      'HOLD',
    ])
  })

  test.each(['retryJob', 'runJobNow', 'cancelJob', 'markJobHandled', 'holdJob', 'releaseJob'])(
    'J75 %s without a reason, of nothing, or of another kind of thing is refused, and nothing is written',
    async (mutation) => {
      const [jobId] = await (mutation === 'retryJob' || mutation === 'markJobHandled'
        ? failedJobs([3])
        : waitingJobs(1))
      const before = await state()
      for (const reason of ['', '   ', '\n\t', 'x'.repeat(501), 'a\0b', 'a\uD800'])
        expect(
          (await actOn(mutation, { jobId: idOf(jobId!), reason })).data!['result'],
          JSON.stringify(reason),
        ).toMatchObject({
          __typename: 'ValidationError',
          path: ['reason'],
        })
      expect((await actOn(mutation, { jobId: idOf(randomUUID()), reason: 'Why' })).data!['result']).toMatchObject({
        __typename: 'NotFoundError',
      })
      for (const jobId of ['nonsense', '', encodeId('JobBatch', randomUUID()), acme.tenantId])
        expect(codeOf(await actOn(mutation, { jobId, reason: 'Why' }))).toBe('BAD_USER_INPUT')
      for (const input of [{ jobId: idOf(jobId!) }, { jobId: idOf(jobId!), reason: null }, { reason: 'Why' }])
        expect((await actOn(mutation, input)).errors).toBeDefined()
      expect(await state()).toBe(before)
    },
  )

  test('J72 of many operators at once exactly one retries', async () => {
    const [jobId] = await failedJobs([4])
    const results = await Promise.all(range(8).map(() => act('retryJob', jobId!)))
    expect(results.filter(({ __typename }) => __typename === 'RetryJobSuccess').length).toBe(1)
    for (const { __typename, code } of results.filter((result) => result.__typename !== 'RetryJobSuccess'))
      expect([__typename, code]).toEqual(['JobActRefusedError', expect.stringMatching(/^job\.(wrong_status|busy)$/)])
    expect((await audit({ jobId: idOf(jobId!) })).length).toBe(1)
  })

  test('R32 a stream of jobs resumed after an act tells nothing of it, and everything since', async () => {
    const [first, second] = await waitingJobs(2)
    const { eventCursor } = await act('cancelJob', first!)
    await act('cancelJob', second!)
    const stream = await api.follow(
      OPERATOR,
      'subscription($after: EventCursor) { jobEvents(after: $after) { ... on JobChanged { jobUuid status actor reason } } }',
      { after: eventCursor },
    )
    // A transaction of another test on this server may hold the log back a while.
    let told: Json
    do told = (await stream.next()).value.data.jobEvents
    while (told.jobUuid === undefined)
    expect(told).toEqual({
      jobUuid: second,
      status: 'CANCELLED',
      actor: 'root',
      reason: 'Asked for by the customer.',
    })
    await stream.return?.()
  })
})

describe('J75 J76 acts on many jobs', () => {
  const PREVIEW = `query($act: JobAct!, $filter: OperatedJobsFilter!) { previewBulkJobAct(act: $act, filter: $filter) {
    jobCount isBeyondLimit kinds { type jobCount } sampleUuids refused { status jobCount } unknownTypes } }`
  const preview = async (act: string, filter: Json) => (await operate(api, PREVIEW, { act, filter })).previewBulkJobAct
  const bulk = (input: Json): Promise<Answer> =>
    api.ask(
      OPERATOR,
      `mutation($input: PerformBulkJobActInput!) { result: performBulkJobAct(input: $input) { __typename
        ... on PerformBulkJobActSuccess { bulkUuid selectedCount actedCount refusedCount refusals { code jobCount } goneCount hasMore eventCursor }
        ... on UserError { code path message } } }`,
      { input },
    )

  test('J76 a dry run counts and does nothing; the act does what it said, and the audit names every job', async () => {
    const correlationId = randomUUID()
    const ids = await failedJobs([5, 6, 7, GONE], correlationId)
    const waiting = await waitingJobs(1, correlationId)
    const filter = { correlationId }
    const before = await state()
    expect(await preview('RETRY', filter)).toEqual({
      jobCount: 4,
      isBeyondLimit: false,
      kinds: [{ type: 'api.fails', jobCount: 4 }],
      sampleUuids: ids.toSorted(),
      refused: [{ status: 'SCHEDULED', jobCount: 1 }],
      unknownTypes: [],
    })
    expect(await state()).toBe(before)

    const bulkUuid = randomUUID()
    const input = { bulkUuid, act: 'RETRY', filter, expectedCount: 4, reason: 'All mended.' }
    const { data } = await bulk(input)
    expect(data!['result']).toMatchObject({
      __typename: 'PerformBulkJobActSuccess',
      bulkUuid,
      selectedCount: 4,
      actedCount: 3,
      refusedCount: 1,
      refusals: [{ code: 'job.no_longer_valid', jobCount: 1 }],
      goneCount: 0,
      hasMore: false,
    })
    const parts = await audit({ partOfUuid: bulkUuid }, { first: 100 })
    const single = parts.filter(({ act }) => act === 'RETRY')
    expect(single.map(({ jobUuid }) => jobUuid).toSorted()).toEqual(ids.slice(0, 3).toSorted())
    expect(await audit({ partOfUuid: bulkUuid, isRefused: true })).toMatchObject([
      { jobUuid: ids[3], jobType: 'api.fails', tenantUuid: acme.tenantId, refusalCode: 'job.no_longer_valid' },
    ])
    for (const entry of single) expect(entry).toMatchObject({ reason: 'All mended.', actor: 'root' })
    const whole = await audit({ isTopLevel: true }, { first: 5 })
    expect(whole.find(({ uuid }) => uuid === bulkUuid)).toMatchObject({
      act: 'BULK_RETRY',
      selection: expect.any(Object),
    })
    // Again with the same id: the same answer, and nothing twice.
    const after = await state()
    expect((await bulk(input)).data!['result']).toMatchObject({ actedCount: 3, selectedCount: 4 })
    expect(await state()).toBe(after)
    expect(waiting.length).toBe(1)
  })

  test.each<[string, Json, string | null]>([
    ['no filter', { filter: {} }, null],
    ['a filter of nulls', { filter: { types: null, correlationId: null } }, null],
    ['a blank reason', { reason: '  ' }, 'job.reason_required'],
    ['a negative number', { expectedCount: -1 }, 'VALIDATION_FAILED'],
    ['a huge filter', { filter: { types: range(101).map(String) } }, 'VALIDATION_FAILED'],
    ['fewer jobs expected than there are', { expectedCount: 0 }, 'job.selection_grew'],
  ])('R15 J75 a bulk act with %s is refused, and nothing is written', async (_name, given, code) => {
    const correlationId = randomUUID()
    await waitingJobs(2, correlationId)
    const before = await state()
    const { data, errors } = await bulk({
      bulkUuid: randomUUID(),
      act: 'CANCEL',
      filter: { correlationId },
      reason: 'Why',
      ...given,
    })
    expect(errors).toBeUndefined()
    expect(data!['result'].__typename).toMatch(/^(ValidationError|ConflictError)$/)
    if (code !== null) expect(data!['result'].code).toBe(code)
    expect(await state()).toBe(before)
  })

  test('J107 what has been due for long is put aside after a restore, and released by filter', async () => {
    const correlationId = randomUUID()
    const ids = await waitingJobs(3, correlationId)
    for (const id of ids) await makeDue(api.db, id)
    await api.db.pool.query(`update job set due = now() - interval '2 hours' where id = $1`, [ids[0]])
    const held = await operate(
      api,
      `mutation($input: HoldDueJobsInput!) { holdDueJobs(input: $input) { __typename
         ... on HoldDueJobsSuccess { actedCount } ... on UserError { message } } }`,
      { input: { bulkUuid: randomUUID(), olderThanMs: 3_600_000, reason: 'Restored from last night.' } },
    )
    expect(held.holdDueJobs).toEqual({ __typename: 'HoldDueJobsSuccess', actedCount: 1 })
    const heldOf = async () =>
      (
        await operate(api, 'query($f: OperatedJobsFilter) { jobs(filter: $f) { nodes { uuid isHeld } } }', {
          f: { correlationId, isHeld: true },
        })
      ).jobs.nodes
    expect(await heldOf()).toEqual([{ uuid: ids[0], isHeld: true }])
    const released = await bulk({
      bulkUuid: randomUUID(),
      act: 'RELEASE',
      filter: { correlationId, isHeld: true },
      reason: 'Looked at.',
    })
    expect(released.data!['result']).toMatchObject({ actedCount: 1 })
    expect(await heldOf()).toEqual([])
    expect(
      (
        await operate(
          api,
          `mutation($input: HoldDueJobsInput!) { holdDueJobs(input: $input) { __typename ... on UserError { path } } }`,
          { input: { bulkUuid: randomUUID(), olderThanMs: -1, reason: 'Why' } },
        )
      ).holdDueJobs,
    ).toEqual({ __typename: 'ValidationError', path: ['olderThanMs'] })
  })
})

describe('J76 the audit', () => {
  test('J76 is found by actor, act, moment and type, page by page, and cannot be changed', async () => {
    const olga = { ...OPERATOR, subject: `olga-${randomUUID()}` }
    const ids = await waitingJobs(3)
    for (const id of ids) await actOn('holdJob', { jobId: idOf(id), reason: 'Hold it.' }, olga)
    await actOn('releaseJob', { jobId: idOf(ids[0]!), reason: 'Go.' }, olga)
    expect((await audit({ actor: olga.subject })).length).toBe(4)
    expect((await audit({ actor: olga.subject, act: 'RELEASE' })).map(({ jobUuid }) => jobUuid)).toEqual([ids[0]])
    expect((await audit({ actor: olga.subject, jobType: 'api.waits', tenantUuid: acme.tenantId })).length).toBe(4)
    expect(await audit({ actor: olga.subject, until: '2020-01-01T00:00:00Z' })).toEqual([])
    const first = await operate(api, ACTS, { filter: { actor: olga.subject }, first: 3 })
    const { hasNextPage, endCursor } = first.operatorActs.pageInfo
    expect(hasNextPage).toBe(true)
    expect((await audit({ actor: olga.subject }, { first: 3, after: endCursor })).length).toBe(1)
    for (const filter of [{ actor: '' }, { act: 'a\0' }, { schedule: 'x'.repeat(201) }, { jobId: 'nonsense' }])
      expect(codeOf(await api.ask(OPERATOR, ACTS, { filter }))).toBe('BAD_USER_INPUT')
    await expect(api.db.pool.query('delete from job_act')).rejects.toThrow(/append-only/)
  })
})
