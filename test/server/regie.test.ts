import { afterEach, beforeEach, expect, test } from 'vitest'
import { readConfiguration, startRegie, type Regie } from '../../src/server/index.ts'
import { useDatabase } from '../harness/database.ts'
import { openSse, RawSocket } from './raw-socket.ts'

const db = useDatabase()
let regie: Regie
let tenant: { id: string; uuid: string }
let tenantId = ''

const environment = () => ({ DATABASE_URL: db.url, PORT: '0', THREADS: '0', LOG_LEVEL: 'silent' })

beforeEach(async () => {
  regie = await startRegie(readConfiguration(environment()))
  const created = await ask(await operatorToken(), CREATE_TENANT, { name: `Acme ${Math.random()}` })
  tenant = (created as { createTenant: { tenant: { id: string; uuid: string } } }).createTenant.tenant
  tenantId = tenant.uuid
})
afterEach(() => regie.stop())

const CREATE_TENANT = `mutation ($name: String!) {
  createTenant(input: { name: $name }) { ... on CreateTenantSuccess { tenant { id uuid } } ... on UserError { message } }
}`

const operatorToken = () => regie.developmentToken({ subject: 'olga', roles: ['operator'] })
const tokenOf = (subject: string, roles: string[], lifetimeSeconds = 3600) =>
  regie.developmentToken({ tenantId, subject, roles, lifetimeSeconds })

function post(token: string | null, query: string, variables?: object): Promise<Response> {
  return fetch(regie.graphqlUrl, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ query, variables }),
  })
}

async function ask(token: string, query: string, variables?: object): Promise<unknown> {
  const result = (await (await post(token, query, variables)).json()) as { data?: unknown; errors?: unknown }
  expect(result.errors).toBeUndefined()
  return result.data
}

test('R38 a good token is let in with its roles; without one, with an expired or a foreign one it is 401', async () => {
  expect(await ask(await tokenOf('ann', ['reader']), '{ viewer { subject roles } }')).toEqual({
    viewer: { subject: 'ann', roles: ['reader'] },
  })
  const refused = [
    null,
    'noise',
    await tokenOf('ann', ['reader'], -60),
    await regie.developmentToken({ subject: 'ann', roles: ['reader'] }),
    await regie.developmentToken({
      tenantId: '0198c0de-0000-7000-8000-00000000dead',
      subject: 'ann',
      roles: ['reader'],
    }),
  ]
  for (const token of refused) expect((await post(token, '{ viewer { subject } }')).status).toBe(401)
})

test('R38 a revocation ends requests at once, and what is open soon', async () => {
  const token = await tokenOf('ann', ['reader'])
  const socket = await new RawSocket(regie.webSocketUrl).opened()
  socket.send({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } })
  await socket.frame(({ type }) => type === 'connection_ack')
  socket.subscribe('1', 'subscription { tenantEvents { __typename } }')
  await socket.frame(({ type }) => type === 'next')
  const { events } = await openSse(regie.graphqlUrl, 'subscription { tenantEvents { __typename } }', { token })
  expect((await events.next()).value).toMatchObject({ event: 'next' })

  const revoked = await post(
    await operatorToken(),
    `mutation ($input: RevokeMembershipInput!) { revokeMembership(input: $input) { __typename } }`,
    { input: { tenantId: tenant.id, subject: 'ann' } },
  )
  expect(await revoked.json()).toMatchObject({ data: { revokeMembership: { __typename: 'RevokeMembershipSuccess' } } })
  expect((await post(token, '{ viewer { subject } }')).status).toBe(401)
  expect(await socket.closed).toMatchObject({ code: 4403 })
  const rest = []
  for await (const event of events) rest.push(event)
  expect(rest).toMatchObject([{ data: { errors: [{ extensions: { code: 'FORBIDDEN' } }] } }, { event: 'complete' }])
})

test('R34 an event reaches WebSocket and SSE alike, with a cursor', async () => {
  const token = await tokenOf('ann', ['administrator'])
  const query = 'subscription { tenantEvents { __typename ... on StreamItem { cursor } } }'
  const socket = await new RawSocket(regie.webSocketUrl).opened()
  socket.send({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } })
  await socket.frame(({ type }) => type === 'connection_ack')
  socket.subscribe('1', query)
  const { events } = await openSse(regie.graphqlUrl, query, { token })
  await socket.frame(({ type, payload }) => type === 'next' && JSON.stringify(payload).includes('StreamCaughtUp'))
  expect((await events.next()).value).toMatchObject({
    data: { data: { tenantEvents: { __typename: 'StreamCaughtUp' } } },
  })
  await ask(token, 'mutation { createOrgModelDraft(input: { name: "Next" }) { __typename } }')
  const overSocket = await socket.frame(
    ({ type, payload }) => type === 'next' && !JSON.stringify(payload).includes('CaughtUp'),
  )
  const overSse = (await events.next()).value as { data: unknown }
  expect(overSse.data).toEqual(overSocket.payload)
  expect(JSON.stringify(overSse.data)).toMatch(/"cursor":"[\w-]+"/)
  socket.socket.terminate()
  await events.return()
})

test('R53 ready holds with everything composed, and turns when the process stops', async () => {
  expect(await (await fetch(`${regie.url}/health/ready`)).json()).toEqual({
    ready: true,
    checks: { serving: 'ok', database: 'ok', 'event feed': 'ok' },
  })
  const metrics = await (await fetch(`${regie.url}/metrics`)).text()
  expect(metrics).toContain('regie_event_streams_active 0')
  expect(metrics).toContain('regie_database_waiting 0')
  await Promise.all([regie.stop(), regie.stop()])
  await expect(fetch(`${regie.url}/health/live`)).rejects.toThrow()
})

test('a process that only works serves health and no API', async () => {
  const worker = await startRegie(readConfiguration({ ...environment(), ROLE: 'worker' }))
  expect((await fetch(`${worker.url}/health/ready`)).status).toBe(200)
  expect((await fetch(worker.graphqlUrl, { method: 'POST' })).status).toBe(404)
  await worker.stop()
})

test('when a part cannot start, what had been started is stopped again', async () => {
  const port = new URL(regie.url).port
  await expect(startRegie(readConfiguration({ ...environment(), PORT: port }))).rejects.toMatchObject({
    name: 'StartupError',
  })
  const { rows } = await db.pool.query<{ count: number }>(
    `select count(*)::int from pg_stat_activity where datname = current_database() and application_name = 'regie server'`,
  )
  await regie.stop()
  await expect
    .poll(async () => {
      const left = await db.pool.query<{ count: number }>(
        `select count(*)::int from pg_stat_activity where datname = current_database() and application_name like 'regie %' and application_name <> 'regie test'`,
      )
      return left.rows[0]!.count
    })
    .toBe(0)
  expect(rows[0]!.count).toBeGreaterThan(0)
})

test('C45 the seed’s REST route is served beside GraphQL, for the tenant of the token', async () => {
  const token = await tokenOf('anna', ['administrator'])
  const submit = (tenant: string) =>
    fetch(`${regie.url}/usertypes/org-model/versions/draft/resolutions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}`, 'x-tenant-id': tenant },
      body: JSON.stringify({
        resolutions: [{ issueCode: 'persona.attribute_in_use', chosenActionType: 'persona.archive' }],
      }),
    })
  const refused = await submit(tenantId)
  expect(refused.status).toBe(422)
  expect(await refused.json()).toMatchObject({ code: 'orgmodel.version.no_draft_to_submit_resolutions' })
  expect((await submit('0198c0de-0000-7000-8000-00000000dead')).status).toBe(403)
})
