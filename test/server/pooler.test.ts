import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readConfiguration, startRegie, type Regie } from '../../src/server/index.ts'
import { useDatabase } from '../harness/database.ts'
import { hasPgBouncer, startPooler, type Pooler } from '../harness/pooler.ts'
import { OPERATOR, type Answer, type Api, type Asking } from '../schema/api.ts'
import { sceneIn, succeeded } from '../schema/scene.ts'
import { openSse } from './raw-socket.ts'

// Fewer than Regie's own pools open, so that its sessions really change places between transactions.
const SHARED_CONNECTIONS = 3
const db = useDatabase()
let pooler: Pooler

const environment = (more: Record<string, string> = {}) => ({
  DATABASE_URL: pooler.url,
  DATABASE_POOLER: 'transaction',
  PORT: '0',
  THREADS: '1',
  LOG_LEVEL: 'silent',
  ...more,
})

describe.skipIf(!hasPgBouncer)(
  'behind PgBouncer in transaction mode (skipped where pgbouncer is not installed)',
  () => {
    beforeAll(async () => {
      pooler = await startPooler(db.url, SHARED_CONNECTIONS)
    })
    afterAll(() => pooler.stop())

    test('sessions without time-outs are refused, with the statements that give them', async () => {
      await expect(startRegie(readConfiguration(environment()))).rejects.toMatchObject({
        name: 'StartupError',
        next: expect.stringContaining("set idle_in_transaction_session_timeout = '60s'"),
      })
    })

    test('sessions set up by the database: requests, jobs and subscriptions work', async () => {
      const settings = {
        timezone: 'UTC',
        statement_timeout: '30s',
        lock_timeout: '10s',
        idle_in_transaction_session_timeout: '60s',
      }
      const { rows } = await db.pool.query<{ name: string }>('select current_database() as name')
      for (const [name, value] of Object.entries(settings))
        await db.pool.query(`alter database ${rows[0]!.name} set ${name} = '${value}'`)
      // The pooler's connections were made before; a new one has new connections.
      await pooler.stop()
      pooler = await startPooler(db.url, SHARED_CONNECTIONS)
      const regie = await startRegie(readConfiguration(environment()))
      try {
        await useEverything(regie)
      } finally {
        await regie.stop()
      }
    })
  },
)

/** Three tenants filled through the API at once, then the log of one of them, in which the threads have written. */
async function useEverything(regie: Regie): Promise<void> {
  const api = over(regie)
  const [scene] = await Promise.all(['Acme', 'Other', 'Third'].map((name) => sceneIn(api, name)))
  const { as, resolutionId } = scene!
  const after = api.beginnings.get(as.tenantId!)
  const query = `subscription { orgModelEvents(after: "${after}") { ... on OrgModelResolutionChanged { status } } }`
  const { events } = await openSse(regie.graphqlUrl, query, { token: await tokenOf(regie, as) })
  const statuses: string[] = []
  for await (const { data } of events) {
    expect(data).not.toHaveProperty('errors')
    const { status } = (data as { data: { orgModelEvents: { status?: string } } }).data.orgModelEvents
    if (status !== undefined) statuses.push(status)
    if (status === 'COMPLETED') break
  }
  expect(statuses).toEqual(['PENDING', 'PROCESSING', 'COMPLETED'])
  const answer = await api.ask(as, `{ orgModelResolution(id: "${resolutionId}") { status } }`)
  expect(answer.data).toEqual({ orgModelResolution: { status: 'COMPLETED' } })
}

const tokenOf = (regie: Regie, { tenantId, subject, roles }: Asking) =>
  regie.developmentToken({ ...(tenantId === null ? {} : { tenantId }), subject, roles })

/** The tests' way of asking, over the network; `beginnings` holds each tenant's first cursor. */
function over(regie: Regie): Pick<Api, 'ask' | 'tenant'> & { readonly beginnings: Map<string, string> } {
  const beginnings = new Map<string, string>()
  const ask: Api['ask'] = async (as, query, variables) => {
    const response = await fetch(regie.graphqlUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${await tokenOf(regie, as ?? OPERATOR)}` },
      body: JSON.stringify({ query, variables }),
    })
    return (await response.json()) as Answer
  }
  return {
    ask,
    beginnings,
    tenant: async (name) => {
      const made = succeeded(await ask(OPERATOR, CREATE_TENANT, { name }))
      beginnings.set(made['tenant'].uuid, made['eventCursor'])
      return { tenantId: made['tenant'].uuid, subject: 'ada', roles: ['administrator'] }
    },
  }
}

const CREATE_TENANT = `mutation ($name: String!) {
  createTenant(input: { name: $name }) { __typename ... on CreateTenantSuccess { tenant { uuid } eventCursor } ... on UserError { message } }
}`
