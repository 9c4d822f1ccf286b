import WebSocket from 'ws'
import { expect, test } from 'vitest'
import { authenticate, useFixtureServer } from './fixture-server.ts'
import { RawSocket } from './raw-socket.ts'

const start = useFixtureServer()

test('R40 a socket that never says connection_init is closed with 4408', async () => {
  const server = await start({ limits: { connectionInitMs: 50 } })
  const socket = await new RawSocket(server.webSocketUrl).opened()
  expect(await socket.closed).toMatchObject({ code: 4408 })
})

test('R40 a subscription before connection_init is closed with 4401', async () => {
  const server = await start()
  const socket = await new RawSocket(server.webSocketUrl).opened()
  socket.subscribe('1', 'subscription { ticks { n } }')
  expect(await socket.closed).toMatchObject({ code: 4401 })
})

test('R40 a second connection_init is closed with 4429', async () => {
  const server = await start()
  const socket = await new RawSocket(server.webSocketUrl).hello()
  socket.send({ type: 'connection_init' })
  expect(await socket.closed).toMatchObject({ code: 4429 })
})

test('R40 a subscription id that is in use is closed with 4409', async () => {
  const server = await start()
  const socket = await new RawSocket(server.webSocketUrl).hello()
  socket.subscribe('1', 'subscription { ticks { n } }')
  socket.subscribe('1', 'subscription { ticks { n } }')
  expect(await socket.closed).toMatchObject({ code: 4409 })
  await expect.poll(() => server.broadcast.size).toBe(0)
})

for (const [name, message] of [
  ['garbage', 'not json'],
  ['a message without a type', '{}'],
  ['a message of an unknown type', '{"type":"start"}'],
  ['a subscribe without a query', '{"id":"1","type":"subscribe","payload":{}}'],
] as const) {
  test(`R40 ${name} is closed with 4400`, async () => {
    const server = await start()
    const socket = await new RawSocket(server.webSocketUrl).hello()
    socket.send(message)
    expect(await socket.closed).toMatchObject({ code: 4400 })
  })
}

test('R40 a binary message is closed with 4400', async () => {
  const server = await start()
  const socket = await new RawSocket(server.webSocketUrl).hello()
  socket.socket.send(Buffer.from('{"type":"ping"}'))
  expect(await socket.closed).toMatchObject({ code: 4400 })
})

test('R40 a message above 64 KiB is closed with 1009', async () => {
  const server = await start()
  const socket = await new RawSocket(server.webSocketUrl).hello()
  socket.subscribe('1', `subscription { ticks { n } } # ${'x'.repeat(64 * 1024)}`)
  expect(await socket.closed).toMatchObject({ code: 1009 })
})

test('R40 too many messages in a short time are closed with 1008', async () => {
  const server = await start({ limits: { messagesPerTenSeconds: 20 } })
  const socket = await new RawSocket(server.webSocketUrl).hello()
  for (let n = 0; n < 25; n++) socket.send({ type: 'ping' })
  expect(await socket.closed).toMatchObject({ code: 1008 })
})

test('R40 one connection holds so many subscriptions and no more; the others go on', async () => {
  const server = await start({ limits: { subscriptionsPerConnection: 2 } })
  const socket = await new RawSocket(server.webSocketUrl).hello()
  for (const id of ['1', '2', '3']) socket.subscribe(id, 'subscription { ticks { n } }')
  const refused = await socket.frame(({ id, type }) => id === '3' && type === 'error')
  expect(refused.payload).toMatchObject([{ extensions: { code: 'RATE_LIMITED', retryable: true } }])
  await expect.poll(() => server.broadcast.size).toBe(2)
  server.broadcast.publish({ n: 1, cursor: 'c1' })
  await socket.frame(({ id, type }) => id === '2' && type === 'next')
  socket.socket.terminate()
})

test('R40 one subject holds so many connections and no more', async () => {
  const server = await start({ limits: { connectionsPerSubject: 1 } })
  const first = await new RawSocket(server.webSocketUrl).hello()
  const second = await new RawSocket(server.webSocketUrl).opened()
  second.send({ type: 'connection_init', payload: { authorization: 'Bearer ann' } })
  expect(await second.closed).toMatchObject({ code: 1013 })
  const other = await new RawSocket(server.webSocketUrl).hello('bob')
  first.socket.terminate()
  other.socket.terminate()
})

for (const [name, payload] of [
  ['without a token', undefined],
  ['with a bad token', { authorization: 'Bearer bad' }],
  ['with a token that is no bearer token', { authorization: 'Basic YW5uOmFubg==' }],
] as const) {
  test(`R38 connection_init ${name} is closed with 4403`, async () => {
    const server = await start()
    const socket = await new RawSocket(server.webSocketUrl).opened()
    socket.send({ type: 'connection_init', ...(payload === undefined ? {} : { payload }) })
    expect(await socket.closed).toMatchObject({ code: 4403 })
    expect(socket.frames).toEqual([])
  })
}

test('R38 the socket is closed with 4403 when its token expires', async () => {
  const server = await start()
  const socket = await new RawSocket(server.webSocketUrl).hello('ann+300')
  socket.subscribe('1', 'subscription { ticks { n } }')
  await expect.poll(() => server.broadcast.size).toBe(1)
  expect(await socket.closed).toMatchObject({ code: 4403, reason: 'The token has expired' })
  await expect.poll(() => server.broadcast.size).toBe(0)
})

test('R43 queries and mutations are refused on a socket', async () => {
  const server = await start()
  const socket = await new RawSocket(server.webSocketUrl).hello()
  socket.subscribe('q', '{ hello }')
  socket.subscribe('m', 'mutation { change }')
  for (const wanted of ['q', 'm']) {
    const refused = await socket.frame(({ id, type }) => id === wanted && type === 'error')
    expect(refused.payload).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }])
  }
  socket.socket.terminate()
})

test('R50 a page of another origin cannot open a socket; the listed and the server’s own can', async () => {
  const server = await start()
  const status = (origin: string) =>
    new Promise((resolve) => {
      const socket = new WebSocket(server.webSocketUrl, 'graphql-transport-ws', { origin })
      socket.on('open', () => {
        resolve(101)
        socket.terminate()
      })
      socket.on('unexpected-response', (_request, response) => resolve(response.statusCode))
      socket.on('error', () => {})
    })
  expect(await status('https://evil.example')).toBe(403)
  expect(await status('null')).toBe(403)
  expect(await status('https://app.example')).toBe(101)
  expect(await status(server.url)).toBe(101)
})

test('R40 the legacy sub-protocol is refused', async () => {
  const server = await start()
  const socket = new RawSocket(server.webSocketUrl, { protocol: 'graphql-ws' })
  await socket.closed
  expect(socket.frames).toEqual([])
})

test('R41 a peer that answers no ping is dropped', async () => {
  const server = await start({ limits: { keepAliveMs: 40 } })
  const socket = await new RawSocket(server.webSocketUrl).hello()
  socket.subscribe('1', 'subscription { ticks { n } }')
  await expect.poll(() => server.broadcast.size).toBe(1)
  // ws answers pings by itself; with its socket paused it cannot see one.
  ;(socket.socket as unknown as { _socket: { pause(): void } })._socket.pause()
  await expect.poll(() => server.broadcast.size).toBe(0)
  socket.socket.terminate()
})

test('R38 the correlation id of the connection and of each subscription are apart', async () => {
  const server = await start()
  const socket = await new RawSocket(server.webSocketUrl, { headers: { 'x-request-id': 'socket-1' } }).hello()
  for (const id of ['1', '2']) socket.subscribe(id, 'subscription { ticks { correlationId } }')
  await expect.poll(() => server.broadcast.size).toBe(2)
  server.broadcast.publish({ n: 1, cursor: 'c1' })
  const ids = await Promise.all(
    ['1', '2'].map(async (wanted) => {
      const { payload } = await socket.frame(({ id, type }) => id === wanted && type === 'next')
      return (payload as { data: { ticks: { correlationId: string } } }).data.ticks.correlationId
    }),
  )
  expect(new Set([...ids, 'socket-1']).size).toBe(3)
  socket.socket.terminate()
})

test('R36 a socket that closes while its token is being checked leaves nothing behind', async () => {
  let release = () => {}
  const checked = new Promise<void>((resolve) => {
    release = resolve
  })
  let asked = () => {}
  const beingChecked = new Promise<void>((resolve) => {
    asked = resolve
  })
  const server = await start({
    authenticate: async (authorization, correlationId) => {
      if (authorization === 'Bearer slow') {
        asked()
        await checked
      }
      return authenticate(authorization, correlationId)
    },
  })
  const leaving = await new RawSocket(server.webSocketUrl).opened()
  leaving.send({ type: 'connection_init', payload: { authorization: 'Bearer slow' } })
  await beingChecked
  leaving.socket.terminate()
  await leaving.closed
  // Two conversations of another socket: by the first the server has seen the other go, by the second it has gone
  // on with its token.
  const other = await new RawSocket(server.webSocketUrl).hello()
  release()
  other.subscribe('1', '{ hello }')
  await other.frame(({ type }) => type === 'error')
  expect(server.server.connections!.size).toBe(1)
  other.socket.terminate()
})

test('R36 a stream that opens after its deadline is let go', async () => {
  const server = await start({ limits: { operationMs: 100 } })
  const socket = await new RawSocket(server.webSocketUrl).hello()
  socket.subscribe('1', 'subscription { late { n } }')
  const refused = await socket.frame(({ type }) => type === 'error')
  expect(refused.payload).toMatchObject([{ extensions: { code: 'TIMEOUT' } }])
  server.release()
  await expect.poll(() => server.broadcast.opened).toBe(1)
  await expect.poll(() => server.broadcast.size).toBe(0)
  socket.socket.terminate()
})
