import { expect, test } from 'vitest'
import { useFixtureServer, type RunningFixture } from './fixture-server.ts'
import { openSse, RawSocket } from './raw-socket.ts'

const QUERY = 'subscription { ticks { n } }'
const PER_SOCKET = 25

/** Streams that are open and the ways in which their client can end them. */
interface OpenStreams {
  readonly complete: (() => void) | null
  readonly abort: () => void
  /** Resolves when the client has seen the end, with what it saw. */
  readonly ends: () => Promise<unknown[]>
}

async function overWebSocket(server: RunningFixture, count: number, token: string): Promise<OpenStreams> {
  const sockets = await Promise.all(
    Array.from({ length: Math.ceil(count / PER_SOCKET) }, () => new RawSocket(server.webSocketUrl).hello(token)),
  )
  for (let n = 0; n < count; n++) sockets[n % sockets.length]!.subscribe(String(n), QUERY)
  return {
    complete: () => {
      for (let n = 0; n < count; n++) sockets[n % sockets.length]!.send({ id: String(n), type: 'complete' })
    },
    abort: () => {
      for (const { socket } of sockets) socket.terminate()
    },
    ends: async () => (await Promise.all(sockets.map(({ closed }) => closed))).map(({ code }) => code),
  }
}

async function overSse(server: RunningFixture, count: number, token: string): Promise<OpenStreams> {
  const leaving = new AbortController()
  const streams = await Promise.all(
    Array.from({ length: count }, () => openSse(server.graphqlUrl, QUERY, { token, signal: leaving.signal })),
  )
  return {
    complete: null,
    abort: () => leaving.abort(),
    ends: () =>
      Promise.all(
        streams.map(async ({ events }) => {
          const last: unknown[] = []
          for await (const { event, data } of events) {
            if (event === 'next')
              last.push((data as { errors: [{ extensions: { code: string } }] }).errors[0].extensions.code)
          }
          return last.join()
        }),
      ),
  }
}

const TRANSPORTS = {
  // `openingMs`: what opening one stream may take, so that all are open before their token expires.
  WebSocket: { open: overWebSocket, openingMs: 5, expired: 4403, stopped: 1012 },
  SSE: { open: overSse, openingMs: 30, expired: 'UNAUTHENTICATED', stopped: 'SERVICE_UNAVAILABLE' },
}

/**
 * R36, R42: streams that come and go leave nothing behind, whichever way they end, without any event to wake
 * them. `count` streams per case.
 */
export function streamLifetimes(count: number): void {
  const start = useFixtureServer()
  const begin = async (transport: keyof typeof TRANSPORTS, token: string) => {
    const server = await start({ limits: { connectionsPerSubject: count, messagesPerTenSeconds: 10 * count } })
    const streams = await TRANSPORTS[transport].open(server, count, token)
    await expect.poll(() => server.broadcast.size, { timeout: 20_000 }).toBe(count)
    expect(await server.metrics.activeSubscriptions()).toBe(count)
    return { server, streams }
  }
  const nothingLeft = async (server: RunningFixture) => {
    await expect.poll(() => server.broadcast.size, { timeout: 20_000 }).toBe(0)
    expect(await server.metrics.activeSubscriptions()).toBe(0)
    await expect.poll(() => server.server.connections!.size, { timeout: 20_000 }).toBe(0)
    for (const { signal } of server.contexts) expect(signal.aborted).toBe(true)
  }

  for (const transport of ['WebSocket', 'SSE'] as const) {
    const { expired, stopped, openingMs } = TRANSPORTS[transport]

    // An HTTP client has no word for "complete": it closes the response.
    if (transport === 'WebSocket') {
      test(`R36 ${count} streams over ${transport} that the client completes`, async () => {
        const { server, streams } = await begin(transport, 'ann')
        streams.complete!()
        await expect.poll(() => server.broadcast.size).toBe(0)
        streams.abort()
        await nothingLeft(server)
      })
    }

    test(`R36 ${count} streams over ${transport} whose client vanishes`, async () => {
      const { server, streams } = await begin(transport, 'ann')
      streams.abort()
      await nothingLeft(server)
    })

    test(`R36 ${count} streams over ${transport} whose token expires`, async () => {
      const { server, streams } = await begin(transport, `ann+${1_500 + count * openingMs}`)
      expect(new Set(await streams.ends())).toEqual(new Set([expired]))
      await nothingLeft(server)
    })

    test(`R54 ${count} streams over ${transport} when the server stops`, async () => {
      const { server, streams } = await begin(transport, 'ann')
      const stopping = server.server.stop()
      expect(new Set(await streams.ends())).toEqual(new Set([stopped]))
      await stopping
      await nothingLeft(server)
    })
  }

  const shortLived = 5 * count
  test(`R36 ${shortLived} short-lived subscriptions one after the other on one socket`, async () => {
    const server = await start({ limits: { messagesPerTenSeconds: 10 * shortLived } })
    const socket = await new RawSocket(server.webSocketUrl).hello()
    for (let n = 0; n < shortLived; n++) {
      socket.subscribe(String(n), QUERY)
      socket.send({ id: String(n), type: 'complete' })
    }
    socket.subscribe('last', QUERY)
    await expect.poll(() => server.contexts.length, { timeout: 20_000 }).toBe(shortLived + 1)
    await expect.poll(() => server.broadcast.size, { timeout: 20_000 }).toBe(1)
    server.broadcast.publish({ n: 1, cursor: 'c1' })
    await socket.frame(({ id, type }) => id === 'last' && type === 'next')
    expect(socket.frames.filter(({ type }) => type === 'next')).toHaveLength(1)
    socket.socket.terminate()
    await nothingLeft(server)
  })
}
