import { expect, test } from 'vitest'
import { useFixtureServer } from './fixture-server.ts'
import { openSse, RawSocket } from './raw-socket.ts'

const start = useFixtureServer()

test('R54 a stop turns ready off, refuses what is new, and lets what is under way finish', async () => {
  const server = await start({ drainMs: 20_000 })
  const underWay = server.post({ query: '{ held }' })
  await server.entered
  expect((await fetch(`${server.url}/health/ready`)).status).toBe(200)
  const stopping = server.server.stop()
  const ready = await fetch(`${server.url}/health/ready`)
  expect(ready.status).toBe(503)
  expect(await ready.json()).toMatchObject({ ready: false, checks: { serving: 'stopping' } })
  expect((await fetch(`${server.url}/health/live`)).status).toBe(200)
  const refused = await server.post({ query: '{ hello }' })
  expect(refused.status).toBe(503)
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(await refused.json()).toMatchObject({ errors: [{ extensions: { code: 'SERVICE_UNAVAILABLE' } }] })
  server.release()
  expect(await (await underWay).json()).toEqual({ data: { held: 'released' } })
  await stopping
  await expect(fetch(`${server.url}/health/live`)).rejects.toThrow()
})

test('R54 what does not finish in the drain time is cut', async () => {
  const server = await start({ drainMs: 100 })
  const underWay = server.post({ query: '{ held }' }).then(
    () => 'answered',
    () => 'cut',
  )
  await server.entered
  await server.server.stop()
  expect(await underWay).toBe('cut')
})

test('R54 a stop ends sockets with 1012 and event streams with SERVICE_UNAVAILABLE', async () => {
  const server = await start()
  const socket = await new RawSocket(server.webSocketUrl).hello()
  socket.subscribe('1', 'subscription { ticks { n } }')
  const { events } = await openSse(server.graphqlUrl, 'subscription { ticks { n } }')
  await expect.poll(() => server.broadcast.size).toBe(2)
  const stopping = server.server.stop()
  expect((await socket.closed).code).toBe(1012)
  const seen = []
  for await (const event of events) seen.push(event)
  expect(seen).toMatchObject([
    { event: 'next', data: { errors: [{ extensions: { code: 'SERVICE_UNAVAILABLE', retryable: true } }] } },
    { event: 'complete' },
  ])
  await stopping
})

test('R54 stopping twice is stopping once', async () => {
  const server = await start()
  await Promise.all([server.server.stop(), server.server.stop()])
  await server.server.stop()
})

test('R53 ready says what does not hold, and a check that hangs does not hold', async () => {
  const server = await start({
    readiness: [
      { name: 'fine', check: async () => null },
      { name: 'behind', check: async () => 'feed is 4 s behind' },
      { name: 'hangs', check: () => new Promise(() => {}) },
      { name: 'throws', check: () => Promise.reject(new Error('secret')) },
    ],
  })
  const response = await fetch(`${server.url}/health/ready`)
  expect(response.status).toBe(503)
  expect(await response.json()).toEqual({
    ready: false,
    checks: {
      serving: 'ok',
      fine: 'ok',
      behind: 'feed is 4 s behind',
      hangs: 'no answer within 500 ms',
      throws: 'failed',
    },
  })
})

test('a port in use is one clear sentence', async () => {
  const first = await start()
  const port = Number(new URL(first.url).port)
  await expect(start({ port })).rejects.toMatchObject({
    name: 'StartupError',
    what: `Regie cannot listen on 127.0.0.1:${port}.`,
    why: 'Another process uses that port.',
    next: `Set PORT to a free port, for example PORT=${port + 1}; PORT=0 takes any.`,
  })
})

test('R53 metrics are for this machine only, and not for whom a proxy speaks', async () => {
  const server = await start()
  expect((await fetch(`${server.url}/metrics`)).status).toBe(200)
  const forwarded = await fetch(`${server.url}/metrics`, { headers: { 'x-forwarded-for': '203.0.113.9' } })
  expect(forwarded.status).toBe(404)
})
