import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, expectTypeOf, test, vi } from 'vitest'
import WebSocket from 'ws'
import {
  ArchivePersonaDocument,
  createRegieClient,
  CreatePersonaDocument,
  CreateTenantDocument,
  isUserError,
  OrgModelActiveDocument,
  OrgModelEventsDocument,
  PersonaEventsDocument,
  PersonasDocument,
  RegieError,
  unwrap,
  UserErrorOutcome,
  ViewerDocument,
  ImportOrgModelDocument,
  ActivateOrgModelDraftDocument,
  type RegieClient,
} from '../../client/src/index.ts'
import { readConfiguration, startRegie, type Regie } from '../../src/server/index.ts'
import { useServer } from '../harness/server.ts'

const db = useServer()
let regie: Regie
let tenantId: string
let attributeId: string
let client: RegieClient
const clients: RegieClient[] = []

const environment = (more: Record<string, string> = {}) => ({
  DATABASE_URL: db.url,
  PORT: '0',
  THREADS: '0',
  LOG_LEVEL: 'silent',
  ...more,
})

function clientFor(token: Parameters<typeof createRegieClient>[0]['token'], url = regie.graphqlUrl): RegieClient {
  const made = createRegieClient({ url, token, webSocketImpl: WebSocket })
  clients.push(made)
  return made
}

beforeAll(async () => {
  regie = await startRegie(readConfiguration(environment()))
  const operator = clientFor(await regie.developmentToken({ subject: 'root', roles: ['operator'] }))
  const { tenant } = unwrap((await operator.mutate(CreateTenantDocument, { input: { name: 'Client' } })).createTenant)
  tenantId = tenant.uuid
  client = clientFor(await token())
  const values = [{ key: 'Sales' }, { key: 'Support' }]
  const attributes = [{ key: 'department', label: 'Department', dataType: 'SINGLE_SELECT' as const, values }]
  const { draft } = unwrap((await client.mutate(ImportOrgModelDocument, { input: { attributes } })).importOrgModel)
  const input = { expectedContentRevision: draft.contentRevision }
  unwrap((await client.mutate(ActivateOrgModelDraftDocument, { input })).activateOrgModelDraft)
  attributeId = draft.attributes.nodes[0]!.uuid
})
afterAll(async () => {
  await Promise.all(clients.map((each) => each.dispose()))
  await regie.stop()
})

const token = (roles = ['administrator']) => regie.developmentToken({ tenantId, subject: 'ada', roles })
const persona = async (name: string) => {
  const filter = { condition: { attributeId, comparison: 'IS_SET' as const } }
  return unwrap((await client.mutate(CreatePersonaDocument, { input: { name, filter } })).createPersona)
}

describe('requests', () => {
  test('R57 a query answers with its own type; variables that are all optional may be left out', async () => {
    const { viewer } = await client.query(ViewerDocument)
    expect(viewer).toMatchObject({ subject: 'ada', tenantUuid: tenantId, roles: ['administrator'] })
    expectTypeOf(viewer.subject).toEqualTypeOf<string>()
    const { orgModelActive } = await client.query(OrgModelActiveDocument)
    expect(orgModelActive?.attributes.nodes[0]?.values.nodes.map(({ key }) => key)).toEqual(['Sales', 'Support'])
  })

  test('R57 unwrap gives the success, and throws the outcome that it was instead', async () => {
    const made = await persona('R57 unwrap')
    expectTypeOf(made.persona.revision).toEqualTypeOf<number>()
    const input = { personaId: made.persona.id, expectedRevision: 9 }
    const { archivePersona } = await client.mutate(ArchivePersonaDocument, { input })
    expect(isUserError(archivePersona)).toBe(true)
    expect(() => unwrap(archivePersona)).toThrow(UserErrorOutcome)
    expect(
      isUserError(
        (await client.mutate(ArchivePersonaDocument, { input: { personaId: made.persona.id } })).archivePersona,
      ),
    ).toBe(false)
  })

  test('R57 a member that this client does not know counts as a user error when it has a code', () => {
    expect(isUserError({ __typename: 'InventedLaterError', code: 'x', message: 'y' } as never)).toBe(true)
    expect(isUserError({ __typename: 'InventedLaterSuccess' })).toBe(false)
  })

  test('R57 a filter that was read can be passed back as it is', async () => {
    await persona('R57 filter')
    const { personas } = await client.query(PersonasDocument, { filter: { nameContains: 'R57 filter' } })
    const { filter } = personas.nodes[0]!
    const again = await client.mutate(CreatePersonaDocument, { input: { name: 'R57 copy', filter } })
    expect(unwrap(again.createPersona).persona.filter).toEqual(filter)
  })

  test('R16 an error of the server has its code, its request id and whether to try again', async () => {
    const nobody = await regie.developmentToken({ tenantId, subject: 'nora', roles: [] })
    const failed = clientFor(nobody).query(PersonasDocument)
    await expect(failed).rejects.toBeInstanceOf(RegieError)
    await expect(failed).rejects.toMatchObject({ code: 'FORBIDDEN', retryable: false, requestId: expect.any(String) })
  })

  test('R38 a refused token is fetched anew, once', async () => {
    const asked: boolean[] = []
    const renewing = clientFor(async ({ refused }) => {
      asked.push(refused)
      return refused ? token() : 'stale'
    })
    expect((await renewing.query(ViewerDocument)).viewer.subject).toBe('ada')
    expect(asked).toEqual([false, true])
    await expect(clientFor(() => 'stale').query(ViewerDocument)).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  test('R57 a server that is away, and one that speaks no GraphQL, are told as such', async () => {
    await expect(clientFor('x', 'http://127.0.0.1:9').query(ViewerDocument)).rejects.toMatchObject({
      code: 'NETWORK',
      retryable: true,
    })
    const other = await listening((_request, response) => response.writeHead(502).end('<html>'))
    const failed = clientFor('x', urlOf(other)).query(ViewerDocument)
    await expect(failed).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', retryable: true })
  })

  test('R57 an aborted request ends as fetch does', async () => {
    const aborted = client.query(ViewerDocument, {}, { signal: AbortSignal.abort() })
    await expect(aborted).rejects.toMatchObject({ name: 'AbortError' })
  })
})

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

async function listening(handler: Parameters<typeof createServer>[1]): Promise<Server> {
  const server = createServer(handler)
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

const urlOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`

describe.each(['websocket', 'sse'] as const)('subscriptions over %s', (transport) => {
  test(`R34 R57 over ${transport}: snapshot, caught up, live, typed`, async () => {
    const stream = client.subscribe(OrgModelEventsDocument, {}, { transport })
    const first = (await stream.next()).value!
    expect(first).toMatchObject({ __typename: 'OrgModelSnapshot', active: { number: 2 }, draft: null })
    if (first.__typename === 'OrgModelSnapshot') expectTypeOf(first.active!.number).toEqualTypeOf<number>()
    expect((await stream.next()).value).toMatchObject({ __typename: 'StreamCaughtUp' })
    await stream.return()
    expect(await stream.next()).toEqual({ done: true, value: undefined })
  })

  test(`R57 over ${transport}: a stream whose server is restarted under load goes on without gap or double`, async () => {
    const own = await startRegie(readConfiguration(environment()))
    const { port } = new URL(own.graphqlUrl)
    let server = own
    const following = clientFor(
      async () => server.developmentToken({ tenantId, subject: 'rita', roles: ['reader'] }),
      own.graphqlUrl,
    )
    const reconnected = vi.fn<() => void>()
    const { eventCursor } = await client.query(PersonasDocument)
    const stream = following.subscribe(
      PersonaEventsDocument,
      { after: eventCursor },
      { transport, onReconnect: reconnected },
    )
    const names = Array.from({ length: 12 }, (_, i) => `${transport} ${i}`)
    const seen: (string | null)[] = []
    const reading = (async () => {
      for await (const item of stream) {
        if (item.__typename === 'PersonaChanged') seen.push(item.name)
        if (seen.length === names.length) return
      }
    })()
    for (const [i, name] of names.entries()) {
      await persona(name)
      if (i % 5 !== 4) continue
      await server.stop()
      server = await startRegie(readConfiguration(environment({ PORT: port })))
    }
    await reading
    expect(seen).toEqual(names)
    expect(reconnected.mock.calls.length).toBeGreaterThanOrEqual(2)
    await server.stop()
  }, 60_000)

  test(`R35 over ${transport}: a cursor that was never given out ends the stream with the reason`, async () => {
    const stream = client.subscribe(PersonaEventsDocument, { after: 'AAAA' }, { transport })
    await expect(stream.next()).rejects.toMatchObject({ code: 'BAD_USER_INPUT' })
    expect(await stream.next()).toEqual({ done: true, value: undefined })
  })

  test(`R38 over ${transport}: a refused token is fetched anew; one that stays refused ends the stream`, async () => {
    const renewing = clientFor(async ({ refused }) => (refused ? token() : 'stale'))
    const stream = renewing.subscribe(PersonaEventsDocument, {}, { transport })
    expect((await stream.next()).value).toMatchObject({ __typename: 'StreamCaughtUp' })
    await stream.return()
    const refused = clientFor(() => 'stale').subscribe(PersonaEventsDocument, {}, { transport })
    await expect(refused.next()).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  test(`R36 over ${transport}: dispose ends the streams, and none connects again`, async () => {
    const closing = clientFor(await token())
    const reconnected = vi.fn<() => void>()
    const stream = closing.subscribe(PersonaEventsDocument, {}, { transport, onReconnect: reconnected })
    expect((await stream.next()).value).toMatchObject({ __typename: 'StreamCaughtUp' })
    const waiting = stream.next()
    await closing.dispose()
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect(reconnected).not.toHaveBeenCalled()
    const late = closing.subscribe(PersonaEventsDocument, {}, { transport })
    expect(await late.next()).toEqual({ done: true, value: undefined })
  })

  test(`R36 over ${transport}: abort ends a waiting stream at once`, async () => {
    const abort = new AbortController()
    const stream = client.subscribe(PersonaEventsDocument, {}, { transport, signal: abort.signal })
    expect((await stream.next()).value).toMatchObject({ __typename: 'StreamCaughtUp' })
    const waiting = stream.next()
    abort.abort()
    expect(await waiting).toEqual({ done: true, value: undefined })
    expect(stream.cursor).toEqual(expect.any(String))
  })
})
