import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfiguration, startRegie, type Regie } from '../../src/server/index.ts'
import { useServer } from '../harness/server.ts'
import { RawSocket } from './raw-socket.ts'

const own = useServer()
let regie: Regie
let token = ''
const UNAVAILABLE = { errors: [{ extensions: { code: 'SERVICE_UNAVAILABLE', retryable: true } }] }

beforeAll(async () => {
  regie = await startRegie(readConfiguration({ DATABASE_URL: own.url, PORT: '0', THREADS: '0', LOG_LEVEL: 'silent' }))
  const operator = await regie.developmentToken({ subject: 'olga', roles: ['operator'] })
  const created = await ask(
    operator,
    'mutation { createTenant(input: { name: "A" }) { ... on CreateTenantSuccess { tenant { uuid } } } }',
  )
  const tenantId = created.body.data.createTenant.tenant.uuid
  token = await regie.developmentToken({ tenantId, subject: 'ann', roles: ['administrator'] })
})
afterAll(() => regie.stop())

async function ask(as: string, query: string) {
  const response = await fetch(regie.graphqlUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${as}` },
    body: JSON.stringify({ query }),
  })
  return { status: response.status, retryAfter: response.headers.get('retry-after'), body: await response.json() }
}

test('R16 without its database the server says SERVICE_UNAVAILABLE, on both roads, and recovers by itself', async () => {
  const WRITE = 'mutation { upsertPerson(input: { person: { externalId: "1", values: {} } }) { __typename } }'
  expect((await ask(token, WRITE)).body).toEqual({ data: { upsertPerson: { __typename: 'UpsertPersonSuccess' } } })
  await own.kill()
  for (const query of ['{ viewer { subject } }', WRITE]) {
    const { status, retryAfter, body } = await ask(token, query)
    expect(body).toMatchObject(UNAVAILABLE)
    expect([status, retryAfter]).toEqual([503, '1'])
  }
  // An operator without a tenant is let in without the database: this error comes from inside the operation.
  const operator = await regie.developmentToken({ subject: 'olga', roles: ['operator'] })
  const inside = await ask(operator, 'mutation { createTenant(input: { name: "B" }) { __typename } }')
  expect(inside.body).toMatchObject(UNAVAILABLE)
  const socket = await new RawSocket(regie.webSocketUrl).opened()
  socket.send({ type: 'connection_init', payload: { authorization: `Bearer ${token}` } })
  expect(await socket.closed).toMatchObject({ code: 1013 })
  await own.start()
  await expect.poll(async () => (await ask(token, WRITE)).status).toBe(200)
})
