import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, JobRegistry, succeeded, type JobOutcome } from '../../src/jobs/index.ts'
import { payloadToStore } from '../../src/jobs/payload.ts'
import { useDatabase } from '../harness/database.ts'
import { enqueueNumbers, finished, TENANT, testJob, useEngines } from './support.ts'

const db = useDatabase()
const engines = useEngines(db)

const second = (upcast: (payload: unknown) => unknown, ran: unknown[], told: JobOutcome<unknown>[]) =>
  defineJob<{ id: number; unit: string }>({
    type: 'test.versions',
    class: 'FOLLOW_UP',
    payload: z.object({ id: z.number(), unit: z.string() }),
    payloadVersion: 3,
    upcasters: { 1: upcast, 2: (payload) => ({ ...(payload as { id: number }), unit: 'metre' }) },
    timeoutMs: 20_000,
    idempotency: 'A test counts what happened.',
    displayName: ({ id }) => `test ${id}`,
    run: async (payload) => (ran.push(payload), succeeded()),
    onOutcome: async (_, outcomes) => void told.push(...outcomes),
  })

test('J103 a payload of an older version is brought up step by step, for its handler and its domain', async () => {
  const [id] = await enqueueNumbers(db, testJob('test.versions'), [7])
  const ran: unknown[] = []
  const told: JobOutcome<unknown>[] = []
  const { signals } = await engines.start([second((old) => ({ id: (old as { n: number }).n }), ran, told)])
  await signals.ended(1)
  expect(ran).toEqual([{ id: 7, unit: 'metre' }])
  expect(told).toMatchObject([{ jobId: id, status: 'SUCCEEDED', payload: { id: 7, unit: 'metre' } }])
})

test('J19 J103 an upcaster that throws fails the job for good, without quoting the payload', async () => {
  const [id] = await enqueueNumbers(db, testJob('test.versions'), [424_242])
  const told: JobOutcome<unknown>[] = []
  const upcast = (old: unknown) => {
    throw new Error(`cannot read ${JSON.stringify(old)}`)
  }
  const { signals } = await engines.start([second(upcast, [], told)])
  await signals.ended(1)
  const row = await finished(db, id!)
  expect(row).toMatchObject({ status: 'FAILED', attempt: 1, failure_class: 'PERMANENT', code: 'job.payload_invalid' })
  expect(row!.message).toMatch(/from version 1 to 2/)
  expect(row!.message).not.toMatch(/424/)
  expect(told).toMatchObject([{ status: 'FAILED', payload: { n: 424_242 } }])
})

const same = (payload: unknown) => payload

test.each([
  ['a missing upcaster', { payloadVersion: 3, upcasters: { 1: same } }, /upcasters\[2\] is missing/],
  ['an upcaster that leads nowhere', { payloadVersion: 2, upcasters: { 1: same, 2: same } }, /upcasters\[2\] leads/],
  ['a version that is none', { payloadVersion: 0 }, /payloadVersion is 0/],
])('J103 start-up refuses %s', (_, own, message) => {
  expect(() => new JobRegistry([testJob('test.refused', own)])).toThrow(message)
})

const free = defineJob<Record<string, unknown>>({
  type: 'test.free',
  class: 'RECOVERY',
  payload: z.record(z.string(), z.unknown()),
  timeoutMs: 1_000,
  displayName: () => 'test',
  run: async () => succeeded(),
})

const LINK = 'postgres://me:hunter2@db.example/x'
const TOKEN = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl'

test.each([{ password: 'x' }, { deep: [{ url: LINK }] }, { note: `it is ${TOKEN}` }])(
  'J69 J70 a secret is refused by its name and by what it looks like: %o',
  (payload) => {
    expect(() => payloadToStore(free, payload)).toThrow(/holds a secret in the field/)
  },
)

test('J70 ids, links and addresses are no secrets', () => {
  const payload = { tenantId: TENANT, link: 'https://example.org/a:b@c', to: 'someone@example.org' }
  expect(JSON.parse(payloadToStore(free, payload))).toEqual(payload)
})

test('J36 J88 J89 credentials in what a handler says never reach a row', async () => {
  const { Failure } = await import('../../src/errors/index.ts')
  const job = testJob('test.talkative', {
    run: () => Promise.reject(new Failure('PERMANENT', 'test.said', `${LINK} answered ${TOKEN}; password=hunter2`)),
  })
  const [id] = await enqueueNumbers(db, job, [1])
  const { signals } = await engines.start([job])
  await signals.ended(1)
  const { rows } = await db.pool.query<{ all: string }>(
    `select (select f::text from job_finished f where id = $1) || (select string_agg(e::text, '') from job_event e
     where job_id = $1) as all`,
    [id],
  )
  expect(rows[0]!.all).toMatch(/db\.example/)
  expect(rows[0]!.all).not.toMatch(/hunter2|eyJ/)
})
