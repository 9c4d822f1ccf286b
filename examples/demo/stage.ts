import { randomUUID } from 'node:crypto'
import WebSocket from 'ws'
import { CreateTenantDocument, createRegieClient, unwrap, type RegieClient } from '../../client/src/index.ts'
import { readConfiguration, startRegie } from '../../src/server/index.ts'

/** A running server with a tenant of its own, and a client that may do everything in it. */
export interface Stage {
  readonly address: string
  readonly databaseUrl: string
  readonly tenantName: string
  readonly client: RegieClient
  close(): Promise<void>
}

/** Starts the server on a free port and has an operator make a new tenant, so that every run begins empty. */
export async function setStage(): Promise<Stage> {
  // The demo tells its own story: the server's log keeps to what went wrong.
  const environment = { LOG_LEVEL: 'error', ...process.env, HOST: '127.0.0.1', PORT: '0' }
  const server = await startRegie(readConfiguration(environment))
  const clientFor = (claims: { subject: string; roles: string[]; tenantId?: string }): RegieClient =>
    createRegieClient({
      url: server.graphqlUrl,
      webSocketUrl: server.webSocketUrl,
      webSocketImpl: WebSocket,
      token: () => server.developmentToken(claims),
    })

  const operator = clientFor({ subject: 'demo-operator', roles: ['operator'] })
  const tenantName = `Demo ${new Date().toISOString().slice(0, 19)} ${randomUUID().slice(0, 4)}`
  const { tenant } = unwrap((await operator.mutate(CreateTenantDocument, { input: { name: tenantName } })).createTenant)
  await operator.dispose()

  const client = clientFor({ subject: 'demo-administrator', roles: ['administrator'], tenantId: tenant.uuid })
  return {
    address: server.url,
    databaseUrl: server.databaseUrl,
    tenantName,
    client,
    close: async () => {
      await client.dispose()
      await server.stop()
    },
  }
}
