import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { statement } from '../../../src/database/index.ts'
import { appendTypeEvent } from '../../../src/jobs/types/index.ts'
import { enqueueNumbers, range, useEngines } from '../../jobs/support.ts'
import { OPERATOR, useApi, type Answer, type Asking } from '../api.ts'
import type { Json } from '../json.ts'
import { codeOf, DEFINITIONS, FAILS, operate, WORKS } from './operators.ts'

const api = useApi(DEFINITIONS)
const engines = useEngines({
  get url() {
    return api.db.url
  },
} as never)
let acme: Asking
let other: Asking

beforeAll(async () => {
  ;[acme, other] = [await api.tenant('Acme'), await api.tenant('Other')]
})

/** Runs so many jobs to their end; answers with their ids. */
async function run(
  definition: typeof WORKS,
  count: number,
  tenantId: string | null = acme.tenantId,
): Promise<string[]> {
  const ids = await enqueueNumbers(api.db, definition, range(count), { tenantId })
  const { engine, signals } = await engines.start([definition])
  await signals.ended(count)
  await engine.stop(500)
  return ids
}

const take = async (stream: AsyncIterator<Answer>): Promise<Json> => {
  const { value } = await stream.next()
  if (value?.errors !== undefined) throw value.errors[0]
  return Object.values(value!.data!)[0]
}

/** The next so many items that tell of something. */
async function events(stream: AsyncIterator<Answer>, count: number): Promise<Json[]> {
  const found: Json[] = []
  while (found.length < count) {
    const item = await take(stream)
    if (item.__typename !== 'StreamCaughtUp') found.push(item)
  }
  return found
}

const cursorNow = async () => (await operate(api, '{ eventCursor }')).eventCursor as string

const JOBS = `subscription($filter: JobEventsFilter, $after: EventCursor) {
  jobEvents(filter: $filter, after: $after) { __typename ... on StreamItem { cursor } ... on JobChanged {
    jobUuid jobType tenantUuid attempt previousStatus status failure { class code message } reason actor startedAt
    nextAttemptAt correlationId recordedAt job { status displayName } } } }`

describe('the stream of jobs', () => {
  test('J09 J91 an operator without a tenant follows the attempts of all tenants, each with what it came to', async () => {
    const stream = await api.follow(OPERATOR, JOBS)
    expect(await take(stream)).toMatchObject({ __typename: 'StreamCaughtUp', cursor: expect.any(String) })
    const [worked] = await run(WORKS, 1)
    const [failed] = await run(FAILS, 1, null)
    expect(await events(stream, 2)).toMatchObject([
      {
        __typename: 'JobChanged',
        jobUuid: worked,
        jobType: 'api.works',
        tenantUuid: acme.tenantId,
        attempt: 1,
        previousStatus: 'PROCESSING',
        status: 'SUCCEEDED',
        failure: null,
        actor: 'system',
        correlationId: 'corr-0',
        job: { status: 'SUCCEEDED', displayName: 'test 0' },
      },
      {
        jobUuid: failed,
        tenantUuid: null,
        status: 'FAILED',
        failure: { class: 'PERMANENT', code: 'api.broken', message: 'The thing is broken. Mend it.' },
      },
    ])
    await stream.return?.()
  })

  test('R34 resumes after every one of its items, and after a query’s cursor, with no gap and no double', async () => {
    const after = await cursorNow()
    const ids = await run(WORKS, 5)
    const whole = await api.follow(OPERATOR, JOBS, { after })
    const all = await events(whole, 5)
    await whole.return?.()
    expect(all.map(({ jobUuid }) => jobUuid).toSorted()).toEqual(ids.toSorted())
    for (const [index, { cursor }] of all.entries()) {
      const rest = await api.follow(OPERATOR, JOBS, { after: cursor })
      const more = await run(FAILS, index === 4 ? 1 : 0)
      const found = await events(rest, 4 - index + more.length)
      expect(found.map(({ jobUuid }) => jobUuid)).toEqual([
        ...all.slice(index + 1).map(({ jobUuid }) => jobUuid),
        ...more,
      ])
      await rest.return?.()
    }
  })

  test('R33 is narrowed by type, status and tenant', async () => {
    const after = await cursorNow()
    await run(WORKS, 2)
    const [ours] = await run(FAILS, 1)
    await run(FAILS, 1, other.tenantId)
    const filter = { types: ['api.fails'], statuses: ['FAILED'], tenantUuid: acme.tenantId }
    const stream = await api.follow(OPERATOR, JOBS, { after, filter })
    expect((await events(stream, 1))[0].jobUuid).toBe(ours)
    expect((await take(stream)).__typename).toBe('StreamCaughtUp')
    await stream.return?.()
  })

  test('R35 takes no cursor that was given to somebody else, and an operator’s tenant’s is one of theirs', async () => {
    const { data } = await api.ask(other, '{ eventCursor }')
    const after = data?.['eventCursor']
    expect(codeOf(await take1(api.follow(OPERATOR, JOBS, { after })))).toBeDefined()
    const both = { ...other, roles: ['operator'] }
    await run(WORKS, 1)
    const stream = await api.follow(both, JOBS, { after })
    expect((await events(stream, 1))[0].__typename).toBe('JobChanged')
    await stream.return?.()
    for (const nonsense of ['x', 'eyJhIjoxfQ'])
      expect((await take1(api.follow(OPERATOR, JOBS, { after: nonsense }))).errors).toBeDefined()
  })

  test('R15 a filter that no event can fit is refused before anything is opened', async () => {
    for (const filter of [{ types: ['a\0'] }, { types: Array.from({ length: 101 }, () => 'a.b') }, { types: [''] }])
      expect((await take1(api.follow(OPERATOR, JOBS, { filter }))).errors).toBeDefined()
  })
})

async function take1(opening: Promise<AsyncIterator<Answer>>): Promise<Answer> {
  const stream = await opening
  const { value } = await stream.next()
  await stream.return?.()
  return value as Answer
}

describe('the numbers of jobs', () => {
  const COUNTS = 'subscription { jobCountsChanged { counts { type status jobCount } } }'

  test('J85 come first as they are, then as they change, each differing from the one before', async () => {
    const stream = await api.follow(OPERATOR, COUNTS)
    const numbers = (item: Json) =>
      Object.fromEntries(item.counts.map((c: Json) => [`${c.type} ${c.status}`, Number(c.jobCount)]))
    const before = numbers(await take(stream))
    await run(WORKS, 3)
    let now = before
    const key = 'api.works SUCCEEDED'
    const seen: string[] = [JSON.stringify(before)]
    while (now[key] !== (before[key] ?? 0) + 3) {
      now = numbers(await take(stream))
      expect(seen).not.toContain(JSON.stringify(now))
      seen.push(JSON.stringify(now))
    }
    await stream.return?.()
  })
})

describe('J86 J90 what operators should know of', () => {
  const EVENTS = `subscription($after: EventCursor) { operatorEvents(after: $after) { __typename
    ... on StreamItem { cursor } ... on JobTypeChanged { jobType type reason actor data sequence } } }`
  const DECLARE = statement<never>(
    'test.declare_type',
    `with policy as (insert into job_policy (id, class, max_attempts, max_lost, delays_ms, jitter, timeout_ms)
       values (1, 'FOLLOW_UP', 1, 1, '{}', 0, 1000) on conflict do nothing)
     insert into job_type (type, class, policy_name, policy_id, payload_version)
     values ($1, 'FOLLOW_UP', 'follow-up', 1, 1) on conflict do nothing`,
  )

  test('J86 a type that fails is told, live and resumed, to an operator without a tenant', async () => {
    const type = `api.t${randomUUID().replaceAll(/[^a-f]/g, '')}`
    await api.db.database.run(DECLARE, [type])
    const tell = (event: string, actor = 'system') =>
      api.db.database.systemTransaction((tx) =>
        appendTypeEvent(tx, { type, event, data: { failed: 20 }, actor, reason: null, correlationId: 'corr' }),
      )
    const stream = await api.follow(OPERATOR, EVENTS)
    expect((await take(stream)).__typename).toBe('StreamCaughtUp')
    await tell('job.type.failing')
    await tell('job.type.paused', 'root')
    api.feed.hint()
    const [failing, paused] = await events(stream, 2)
    expect(failing).toMatchObject({
      __typename: 'JobTypeChanged',
      jobType: type,
      type: 'job.type.failing',
      actor: 'system',
      data: { failed: 20, type },
    })
    expect(paused).toMatchObject({ type: 'job.type.paused', actor: 'root', sequence: failing.sequence + 1 })
    await stream.return?.()
    const again = await api.follow(OPERATOR, EVENTS, { after: failing.cursor })
    expect((await events(again, 1))[0]).toEqual(paused)
    await again.return?.()
  })

  test('J77 a tenant’s own stream tells nothing of it', async () => {
    const { data } = await api.ask({ ...acme, roles: ['administrator'] }, '{ eventCursor }')
    const type = `api.u${randomUUID().replaceAll(/[^a-f]/g, '')}`
    await api.db.database.run(DECLARE, [type])
    await api.db.database.systemTransaction((tx) =>
      appendTypeEvent(tx, { type, event: 'job.type.failing', actor: 'system', reason: null, correlationId: 'corr' }),
    )
    const stream = await api.follow(
      acme,
      'subscription($after: EventCursor) { tenantEvents(after: $after) { __typename } }',
      {
        after: data?.['eventCursor'],
      },
    )
    expect((await take(stream)).__typename).toBe('StreamCaughtUp')
    await stream.return?.()
  })
})
