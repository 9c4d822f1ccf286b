import { GraphQLNonNull, GraphQLObjectType, GraphQLSchema, GraphQLString } from 'graphql'
import { createClient as createSseClient } from 'graphql-sse'
import { createClient as createWsClient } from 'graphql-ws'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import WebSocket from 'ws'
import {
  appendEvents,
  CursorCodec,
  EventFeed,
  EVENTS,
  readEvents,
  type LogEvent,
  type StreamItem,
} from '../../src/events/index.ts'
import type { Incoming } from '../../src/server/incoming.ts'
import { useServer } from '../harness/server.ts'
import { cuttingProxy, type CuttingProxy } from './cutting-proxy.ts'
import { TENANT, useFixtureServer } from './fixture-server.ts'

const KIND = 'thing'
const QUERY = 'subscription ($after: String) { items(after: $after) { cursor kind subjectId } }'

interface Item {
  readonly cursor: string
  readonly kind: string
  readonly subjectId: string | null
}

/** A schema whose one subscription is the event feed, as the real one's are. */
function schemaOn(feed: () => EventFeed): GraphQLSchema {
  const text = new GraphQLNonNull(GraphQLString)
  const item = new GraphQLObjectType<StreamItem<never>>({
    name: 'Item',
    fields: {
      cursor: { type: text },
      kind: { type: text },
      subjectId: {
        type: GraphQLString,
        resolve: (source) => (source.kind === 'event' ? source.event.subjectId : null),
      },
    },
  })
  return new GraphQLSchema({
    query: new GraphQLObjectType({ name: 'Query', fields: { nothing: { type: GraphQLString } } }),
    subscription: new GraphQLObjectType<unknown, { incoming: Incoming }>({
      name: 'Subscription',
      fields: {
        items: {
          type: item,
          args: { after: { type: GraphQLString } },
          subscribe: (_, { after }: { after?: string }, { incoming }) =>
            feed().subscribe({ tenantId: incoming.viewer!.tenantId, after: after ?? null, signal: incoming.signal }),
          resolve: (source) => source as unknown,
        },
      },
    }),
  })
}

type Next = (item: Item) => void
type Payload = { query: string; variables: { after: string | null } }

/** Stock clients; all they need to resume is that the caller moves `variables.after` on. */
const CLIENTS = {
  WebSocket: (port: number, payload: Payload, next: Next) => {
    const client = createWsClient({
      url: `ws://127.0.0.1:${port}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { authorization: 'Bearer ann' },
      retryAttempts: 1_000,
      retryWait: () => new Promise((resolve) => setTimeout(resolve, 5)),
      shouldRetry: () => true,
    })
    client.subscribe<{ items: Item }>(payload, {
      next: ({ data }) => data && next(data.items),
      error: () => {},
      complete: () => {},
    })
    return () => client.dispose()
  },
  SSE: (port: number, payload: Payload, next: Next) => {
    const client = createSseClient({
      url: `http://127.0.0.1:${port}/graphql`,
      headers: { authorization: 'Bearer ann' },
      retryAttempts: 1_000,
      retry: () => new Promise((resolve) => setTimeout(resolve, 5)),
    })
    client.subscribe<{ items: Item }>(payload, {
      next: ({ data }) => data && next(data.items),
      error: () => {},
      complete: () => {},
    })
    return () => client.dispose()
  },
}

/** R34–R36, R42: forced reconnects under load, over both transports: nothing missed, nothing twice, in log order. */
export function resumeUnderLoad(cuts: number): void {
  const db = useServer()
  const start = useFixtureServer()
  let feed: EventFeed

  beforeAll(async () => {
    feed = new EventFeed({ database: db.database, codec: new CursorCodec('a secret for the tests') })
    await feed.start()
  })
  afterAll(() => feed.stop())

  for (const transport of ['WebSocket', 'SSE'] as const) {
    test(`R35 ${cuts} cuts of the network under load over ${transport}: 0 missed, 0 double`, async () => {
      const server = await start({
        schema: schemaOn(() => feed),
        limits: { connectionsPerSubject: 10 * cuts },
      })
      const proxy = await cuttingProxy(new URL(server.url))
      const from = await lastCursor()
      const received: string[] = []
      const payload: Payload = { query: QUERY, variables: { after: from } }
      const dispose = CLIENTS[transport](proxy.port, payload, (item) => {
        payload.variables.after = item.cursor
        if (item.kind === 'event') received.push(item.subjectId!)
      })
      const load = writeUnderLoad()
      const written = await cutWhile(proxy, cuts, () => received.length)
        .finally(() => void load.stop())
        .then(load.stop)
      // The log shows the last of them only when no older transaction of the whole server is open.
      await expect.poll(async () => (await committedAfter(from)).length, PATIENT).toBe(written.length)
      const expected = (await committedAfter(from)).map(({ subjectId }) => subjectId)
      expect(new Set(expected)).toEqual(new Set(written))
      await expect.poll(() => received.length, PATIENT).toBeGreaterThanOrEqual(expected.length)
      expect(received).toEqual(expected)
      void dispose()
      await proxy.close()
      await expect.poll(() => feed.size).toBe(0)
    })
  }

  /** Cuts again and again, each time after something has come through and the client is connected again. */
  async function cutWhile(proxy: CuttingProxy, times: number, received: () => number): Promise<void> {
    for (let cut = 0; cut < times; cut++) {
      const before = received()
      await expect.poll(received, { timeout: 20_000, interval: 5 }).toBeGreaterThan(before)
      await expect.poll(() => proxy.cut(), { timeout: 20_000, interval: 5 }).toBeGreaterThan(0)
    }
  }

  /** Six writers whose transactions overlap; one in twenty rolls back. */
  function writeUnderLoad() {
    let going = true
    const written: string[] = []
    const writer = async (): Promise<void> => {
      while (going) {
        const subjectId = uuidv7()
        const rollsBack = Math.random() < 0.05
        await db.database
          .transaction(TENANT, async (tx) => {
            await appendEvents(tx, [eventOf(subjectId)])
            if (rollsBack) throw new RolledBack()
          })
          .then(
            () => written.push(subjectId),
            (error: unknown) => {
              if (!(error instanceof RolledBack)) throw error
            },
          )
        feed.hint()
      }
    }
    const writers = Array.from({ length: 6 }, writer)
    return {
      stop: async () => {
        going = false
        await Promise.all(writers)
        return written
      },
    }
  }

  async function lastCursor(): Promise<string> {
    const { end } = await readEvents(db.database, { tenantId: TENANT, after: null, limit: 100_000 })
    return new CursorCodec('a secret for the tests').encode(EVENTS, TENANT, end)
  }

  async function committedAfter(cursor: string): Promise<LogEvent[]> {
    const after = new CursorCodec('a secret for the tests').decode(EVENTS, TENANT, cursor)
    const { events } = await readEvents(db.database, { tenantId: TENANT, after, limit: 1_000_000 })
    return [...events]
  }
}

const PATIENT = { timeout: 20_000 }

class RolledBack extends Error {}

const eventOf = (subjectId: string) => ({
  tenantId: TENANT,
  subjectKind: KIND,
  subjectId,
  sequence: 1,
  type: 'thing.made',
  from: null,
  to: 'MADE',
  reason: null,
  data: {},
  actor: 'test',
  correlationId: 'test',
})
