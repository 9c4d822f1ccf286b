import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfiguration, startRegie, type Regie } from '../../src/server/index.ts'
import { useDatabase } from '../harness/database.ts'
import { openSse, RawSocket } from './raw-socket.ts'

// The real server: tokens, sockets and event streams, with the operators' subscriptions over each.

const db = useDatabase()
let regie: Regie
let operator: string
let administrator: string

beforeAll(async () => {
  regie = await startRegie(readConfiguration({ DATABASE_URL: db.url, PORT: '0', THREADS: '0', LOG_LEVEL: 'silent' }))
  operator = await regie.developmentToken({ subject: 'olga', roles: ['operator'] })
  const made = await post(
    operator,
    'mutation { createTenant(input: { name: "Acme" }) { ... on CreateTenantSuccess { tenant { uuid } } } }',
  )
  const tenantId = (made as { data: { createTenant: { tenant: { uuid: string } } } }).data.createTenant.tenant.uuid
  administrator = await regie.developmentToken({ tenantId, subject: 'ann', roles: ['administrator'] })
})
afterAll(() => regie.stop())

async function post(token: string, query: string): Promise<unknown> {
  const response = await fetch(regie.graphqlUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query }),
  })
  return response.json()
}

/** An attempt that ended, as the engine writes it. */
async function ended(): Promise<string> {
  const jobId = randomUUID()
  await db.pool.query(
    `insert into job_event (epoch, job_id, tenant_id, type, attempt, claim_epoch, "from", "to", actor, correlation_id)
     values (event_log_current_epoch(), $1, $2, 'test.ended', 1, 1, 'PROCESSING', 'SUCCEEDED', 'system', 'corr')`,
    [jobId, randomUUID()],
  )
  return jobId
}

const JOBS = 'subscription { jobEvents { __typename ... on StreamItem { cursor } ... on JobChanged { jobUuid } } }'
const SUBSCRIPTIONS = [
  JOBS,
  'subscription { operatorEvents { __typename ... on StreamItem { cursor } } }',
  'subscription { jobCountsChanged { counts { type status jobCount } } }',
]

async function socketOf(token: string): Promise<RawSocket> {
  return new RawSocket(regie.webSocketUrl).hello(token)
}

test('J73 R42 an operator without a tenant follows jobs over WebSocket and over SSE alike', async () => {
  const socket = await socketOf(operator)
  socket.subscribe('1', JOBS)
  await socket.frame(({ type, payload }) => type === 'next' && JSON.stringify(payload).includes('StreamCaughtUp'))
  const { response, events } = await openSse(regie.graphqlUrl, JOBS, { token: operator })
  expect(response.status).toBe(200)
  expect(JSON.stringify((await events.next()).value)).toContain('StreamCaughtUp')
  const jobId = await ended()
  const told = await socket.frame(({ payload }) => JSON.stringify(payload ?? '').includes(jobId))
  expect(JSON.stringify((await events.next()).value)).toContain(jobId)
  expect(told.payload).toMatchObject({ data: { jobEvents: { __typename: 'JobChanged', jobUuid: jobId } } })
  socket.socket.terminate()
  await events.return()
})

test('J73 every operators’ subscription opens over both transports', async () => {
  const socket = await socketOf(operator)
  for (const [index, query] of SUBSCRIPTIONS.entries()) {
    socket.subscribe(String(index), query)
    expect(await socket.frame(({ id }) => id === String(index))).toMatchObject({ type: 'next', payload: { data: {} } })
    const { events } = await openSse(regie.graphqlUrl, query, { token: operator })
    expect((await events.next()).value).toMatchObject({ event: 'next', data: { data: {} } })
    await events.return()
  }
  socket.socket.terminate()
})

test('J71 J77 and none of them to a tenant’s administrator', async () => {
  const socket = await socketOf(administrator)
  for (const [index, query] of SUBSCRIPTIONS.entries()) {
    socket.subscribe(String(index), query)
    expect(await socket.frame(({ id }) => id === String(index))).toMatchObject({
      type: 'error',
      payload: [{ extensions: { code: 'FORBIDDEN' } }],
    })
    const { events } = await openSse(regie.graphqlUrl, query, { token: administrator })
    expect((await events.next()).value).toMatchObject({ data: { errors: [{ extensions: { code: 'FORBIDDEN' } }] } })
    await events.return()
  }
  expect(await post(administrator, '{ jobs { nodes { id } } }')).toMatchObject({
    errors: [{ extensions: { code: 'FORBIDDEN' } }],
  })
  socket.socket.terminate()
})

test('R36 whoever leaves costs nothing any more, without another event', async () => {
  const open = async () => {
    const metrics = await (await fetch(`${regie.url}/metrics`)).text()
    return Number(/regie_job_streams_active (\d+)/.exec(metrics)?.[1])
  }
  await expect.poll(open).toBe(0)
  const socket = await socketOf(operator)
  socket.subscribe('1', JOBS)
  await socket.frame(({ type }) => type === 'next')
  expect(await open()).toBe(1)
  socket.socket.terminate()
  await expect.poll(open).toBe(0)
})

test('J86 the state of the jobs stands in the metrics', async () => {
  const metrics = await (await fetch(`${regie.url}/metrics`)).text()
  expect(metrics).toContain('regie_jobs{status="FAILED"} 0')
  expect(metrics).toContain('regie_job_types_paused 0')
  expect(metrics).toContain('regie_jobs_quarantined 0')
})
