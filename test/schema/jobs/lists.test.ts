import { beforeAll, describe, expect, test } from 'vitest'
import { encodeId } from '../../../src/schema/id.ts'
import { enqueueNumbers, range, useEngines } from '../../jobs/support.ts'
import { OPERATOR, useApi, type Asking } from '../api.ts'
import type { Json } from '../json.ts'
import { codeOf, DEFINITIONS, FAILS, LEAKS, operate, reasonOf, WAITS, WORKS } from './operators.ts'

const api = useApi(DEFINITIONS)
const engines = useEngines({
  get url() {
    return api.db.url
  },
} as never)

let acme: Asking
let other: Asking
let failedIds: string[]

beforeAll(async () => {
  ;[acme, other] = [await api.tenant('Acme'), await api.tenant('Other')]
  await enqueueNumbers(api.db, WORKS, range(7), { tenantId: acme.tenantId, correlationId: 'corr-works' })
  await enqueueNumbers(api.db, WORKS, [1], { tenantId: null, correlationId: 'corr-own' })
  failedIds = await enqueueNumbers(api.db, FAILS, range(5), { tenantId: other.tenantId, correlationId: 'corr-fails' })
  await enqueueNumbers(api.db, LEAKS, [1], { tenantId: acme.tenantId })
  await enqueueNumbers(api.db, WAITS, range(3), { tenantId: acme.tenantId, correlationId: 'corr-waits' })
  const { engine, signals } = await engines.start([WORKS, FAILS, LEAKS])
  await signals.ended(14)
  await engine.stop(500)
})

const LIST = `query($filter: OperatedJobsFilter, $first: Int, $after: String, $last: Int, $before: String) {
  jobs(filter: $filter, first: $first, after: $after, last: $last, before: $before) {
    totalCount pageInfo { hasNextPage endCursor }
    nodes { id uuid type tenantUuid displayName status attempt maxAttempts dueAt isHeld createdAt finishedAt
      failure { class code message } reason resolution correlationId triggeredBy batch { id } }
  }
}`
const list = async (filter: Json = {}, page: Json = {}): Promise<Json> =>
  (await operate(api, LIST, { filter, ...page })).jobs
const typesIn = async (filter: Json) => {
  const found: Record<string, number> = {}
  for (const { type } of (await list(filter, { first: 100 })).nodes) found[type] = (found[type] ?? 0) + 1
  return found
}

describe('J10 J85 J106 jobs are found', () => {
  test('J10 J106 of all tenants and the installation, waiting and over', async () => {
    expect(await typesIn({})).toEqual({ 'api.works': 8, 'api.fails': 5, 'api.leaks': 1, 'api.waits': 3 })
  })

  test.each<[string, () => Json, Record<string, number>]>([
    ['type', () => ({ types: ['api.fails', 'api.waits'] }), { 'api.fails': 5, 'api.waits': 3 }],
    ['status', () => ({ statuses: ['FAILED'] }), { 'api.fails': 5, 'api.leaks': 1 }],
    ['two statuses', () => ({ statuses: ['FAILED', 'SCHEDULED'] }), { 'api.fails': 5, 'api.leaks': 1, 'api.waits': 3 }],
    ['tenant', () => ({ tenantUuid: other.tenantId }), { 'api.fails': 5 }],
    ['the installation', () => ({ tenantUuid: '00000000-0000-0000-0000-000000000000' }), { 'api.works': 1 }],
    ['error code', () => ({ errorCode: 'api.leak' }), { 'api.leaks': 1 }],
    ['failure class', () => ({ failureClass: 'PERMANENT' }), { 'api.fails': 5, 'api.leaks': 1 }],
    ['correlation id', () => ({ correlationId: 'corr-waits' }), { 'api.waits': 3 }],
    ['age', () => ({ createdAfter: '2099-01-01T00:00:00Z' }), {}],
    [
      'moment of ending',
      () => ({ finishedAfter: '2020-01-01T00:00:00Z' }),
      { 'api.works': 8, 'api.fails': 5, 'api.leaks': 1 },
    ],
    ['being due', () => ({ dueBefore: '2099-01-01T00:00:00Z' }), { 'api.waits': 3 }],
    ['not being held', () => ({ isHeld: false }), { 'api.waits': 3 }],
    [
      'all at once',
      () => ({
        types: ['api.fails'],
        statuses: ['FAILED'],
        correlationId: 'corr-fails',
        tenantUuid: other.tenantId,
        errorCode: 'api.broken',
      }),
      { 'api.fails': 5 },
    ],
    [
      'null, which narrows nothing',
      () => ({ types: null, statuses: null, tenantUuid: null, errorCode: null, isHeld: null }),
      { 'api.works': 8, 'api.fails': 5, 'api.leaks': 1, 'api.waits': 3 },
    ],
  ])('J10 J85 by %s', async (_name, filter, found) => {
    expect(await typesIn(filter())).toEqual(found)
  })

  test('R23 page by page, the newest first, forwards and back, without gap or double', async () => {
    const all = (await list({}, { first: 100 })).nodes.map(({ uuid }: Json) => uuid)
    expect(all).toEqual(all.toSorted().toReversed())
    const seen: string[] = []
    let after: string | null = null
    for (;;) {
      const page: Json = await list({}, { first: 4, after })
      seen.push(...page.nodes.map(({ uuid }: Json) => uuid))
      if (!page.pageInfo.hasNextPage) break
      after = page.pageInfo.endCursor
    }
    expect(seen).toEqual(all)
    const end = (await list({}, { first: 6 })).pageInfo.endCursor
    const back = await list({}, { last: 3, before: end })
    expect(back.nodes.map(({ uuid }: Json) => uuid)).toEqual(all.slice(2, 5))
  })

  test('R26 the whole is counted where that costs nothing', async () => {
    expect((await list({ types: ['api.fails'], statuses: ['FAILED'] })).totalCount).toBe(5)
    expect((await list({ tenantUuid: acme.tenantId })).totalCount).toBe(11)
    expect((await list({ correlationId: 'corr-fails' })).totalCount).toBeNull()
  })

  test('J09 J23 J34 J88 a failed job tells what, which attempt, why, when and whence, by id and by UUID', async () => {
    const [jobId] = failedIds
    const fields = `uuid type displayName status attempt maxAttempts dueAt finishedAt failure { class code message }
      tenantUuid correlationId triggeredBy attempts { attempt previousStatus status actor startedAt endedAt
        nextAttemptAt correlationId failure { code } }`
    const byUuid = await operate(api, `query($uuid: UUID) { job(uuid: $uuid) { id ${fields} } }`, { uuid: jobId })
    expect(byUuid.job).toMatchObject({
      uuid: jobId,
      type: 'api.fails',
      displayName: 'test 0',
      status: 'FAILED',
      attempt: 1,
      maxAttempts: 3,
      dueAt: null,
      finishedAt: expect.stringMatching(/Z$/),
      failure: { class: 'PERMANENT', code: 'api.broken', message: 'The thing is broken. Mend it.' },
      tenantUuid: other.tenantId,
      correlationId: 'corr-fails',
      triggeredBy: 'tester',
      attempts: [
        {
          attempt: 1,
          previousStatus: 'PROCESSING',
          status: 'FAILED',
          actor: 'system',
          startedAt: expect.any(String),
          endedAt: expect.any(String),
          nextAttemptAt: null,
          correlationId: 'corr-fails',
          failure: { code: 'api.broken' },
        },
      ],
    })
    const byId = await operate(api, `query($id: ID) { job(id: $id) { ${fields} } }`, { id: byUuid.job.id })
    expect(byId.job).toEqual({ ...byUuid.job, id: undefined })
    expect((await operate(api, '{ job(uuid: "0193a000-0000-7000-8000-000000000001") { id } }')).job).toBeNull()
  })

  test('J36 J74 J89 nothing secret or personal is shown: not in failures, not in stacks, not in payloads', async () => {
    const leaks = `{ jobs(filter: { types: ["api.leaks"] }) { nodes { id failure { message } attempts { stack failure { message } } } } }`
    const { jobs } = await operate(api, leaks)
    const [job] = jobs.nodes
    expect(job.attempts[0].stack).toContain('Error')
    const payload = await operate(api, 'query($id: ID!) { jobPayload(id: $id) }', { id: job.id })
    expect(payload.jobPayload).toEqual({ n: 1 })
    expect(JSON.stringify([jobs, payload])).not.toMatch(/hunter2|ada@example|abcdefghijklmnop/)
    const nobody = encodeId('OperatedJob', '0193a000-0000-7000-8000-000000000001')
    expect((await operate(api, 'query($id: ID!) { jobPayload(id: $id) }', { id: nobody })).jobPayload).toBeNull()
  })

  test('J83 J85 counts by type and status, of all or of one tenant', async () => {
    const counts = async (filter: Json) => {
      const answer = await operate(
        api,
        'query($f: JobCountsFilter) { jobCounts(filter: $f) { type status jobCount } }',
        {
          f: filter,
        },
      )
      return Object.fromEntries(answer.jobCounts.map((c: Json) => [`${c.type} ${c.status}`, c.jobCount]))
    }
    expect(await counts(null)).toEqual({
      'api.works SUCCEEDED': '8',
      'api.fails FAILED': '5',
      'api.leaks FAILED': '1',
      'api.waits SCHEDULED': '3',
    })
    expect(await counts({ tenantUuid: acme.tenantId, types: ['api.works'] })).toEqual({ 'api.works SUCCEEDED': '7' })
    expect(await counts({ tenantUuid: '00000000-0000-0000-0000-000000000000' })).toEqual({ 'api.works SUCCEEDED': '1' })
  })
})

describe('J10 J88 why a job waits', () => {
  const WAITING = `query($f: OperatedJobsFilter) { jobs(filter: $f, first: 100) { nodes { uuid status waitingBecause {
    kind endsAt pausedAt pausedReason dependency payloadVersion runningCount cap aheadCount isAtLeast } } } }`
  const waiting = async (f: Json): Promise<Json[]> => (await operate(api, WAITING, { f })).jobs.nodes

  test('J88 is told of every job of a list that waits, and of no other', async () => {
    for (const { status, waitingBecause } of await waiting({}))
      expect(waitingBecause.length > 0).toBe(status === 'SCHEDULED')
    const [job] = await waiting({ types: ['api.waits'] })
    expect(job!.waitingBecause[0]).toEqual({
      kind: 'NO_WORKER',
      endsAt: null,
      pausedAt: null,
      pausedReason: null,
      dependency: null,
      payloadVersion: 1,
      runningCount: null,
      cap: null,
      aheadCount: null,
      isAtLeast: false,
    })
  })

  test('J88 with the details that its kind has', async () => {
    const [later] = await enqueueNumbers(api.db, WAITS, [9], {
      tenantId: acme.tenantId,
      correlationId: 'corr-later',
      runAt: new Date('2098-01-01T00:00:00Z'),
    })
    const [job] = await waiting({ correlationId: 'corr-later' })
    expect(job!.waitingBecause).toContainEqual(
      expect.objectContaining({ kind: 'NOT_YET_DUE', endsAt: '2098-01-01T00:00:00.000Z' }),
    )
    await api.db.pool.query('delete from job where id = $1', [later])
  })
})

describe('R15 R16 nonsense is the caller’s mistake', () => {
  test.each<[string, Json, string | undefined]>([
    ['too many types', { filter: { types: range(101).map((n) => `t.${n}`) } }, 'VALIDATION_FAILED'],
    ['a type that no column holds', { filter: { types: ['a\0b'] } }, 'VALIDATION_FAILED'],
    ['half a surrogate pair', { filter: { errorCode: 'a\uD800' } }, 'VALIDATION_FAILED'],
    ['an empty correlation id', { filter: { correlationId: '' } }, 'VALIDATION_FAILED'],
    ['a text without end', { filter: { correlationId: 'x'.repeat(201) } }, 'VALIDATION_FAILED'],
    [
      'another type’s id',
      { filter: { batchId: encodeId('OperatedJob', '0193a000-0000-7000-8000-000000000001') } },
      undefined,
    ],
    ['no id at all', { filter: { batchId: 'nonsense' } }, undefined],
    ['a negative page', { first: -1 }, undefined],
    ['an empty page', { first: 0 }, undefined],
    ['a page without end', { first: 101 }, undefined],
    ['both directions', { first: 1, last: 1 }, undefined],
    ['a cursor of nobody', { after: 'nonsense' }, undefined],
    ['a cursor of another list', { after: Buffer.from('v1:{"name":"x","id":"y"}').toString('base64url') }, undefined],
    ['a cursor that is no UUID', { after: Buffer.from('v1:{"id":"x"}').toString('base64url') }, undefined],
  ])('R24 jobs with %s', async (_name, variables, reason) => {
    const answer = await api.ask(OPERATOR, LIST, variables)
    expect(codeOf(answer)).toBe('BAD_USER_INPUT')
    expect(reasonOf(answer)).toBe(reason)
  })

  test('R14 a job is asked for by one name', async () => {
    const uuid = failedIds[0]
    const id = encodeId('OperatedJob', uuid!)
    for (const variables of [{}, { id, uuid }, { id: null, uuid: null }, { id: encodeId('JobBatch', uuid!) }])
      expect(
        codeOf(await api.ask(OPERATOR, 'query($id: ID, $uuid: UUID) { job(id: $id, uuid: $uuid) { id } }', variables)),
      ).toBe('BAD_USER_INPUT')
  })
})

describe('R48 what lists cost', () => {
  const EVERYTHING = `{ jobs(first: 100) { nodes { id attempts { stack } waitingBecause { kind } batch { label counts { jobCount } } } } }`

  test('R48 however many jobs are listed, what hangs on them is read at once', async () => {
    const { answer, sql } = await api.counted(OPERATOR, EVERYTHING)
    expect(answer.errors).toBeUndefined()
    expect(answer.data?.['jobs'].nodes.length).toBe(17)
    expect(sql.length, sql.join('\n')).toBeLessThanOrEqual(4)
  })

  test('R48 a list of a hundred fits what one operation may cost', async () => {
    expect((await api.ask(OPERATOR, EVERYTHING)).errors).toBeUndefined()
  })
})
