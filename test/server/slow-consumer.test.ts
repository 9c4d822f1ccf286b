import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { useFixtureServer } from './fixture-server.ts'
import { RawSocket } from './raw-socket.ts'

const start = useFixtureServer()
const BIG = 'subscription { ticks { n padding } }'

test('R37 an event stream whose client stops reading is cut off, and costs the others nothing', async () => {
  const server = await start({ limits: { stalledMs: 300 } })
  const { hostname, port } = new URL(server.url)
  const body = JSON.stringify({ query: BIG })
  const stalled = connect(Number(port), hostname, () =>
    stalled.write(
      `POST /graphql HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ann\r\naccept: text/event-stream\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    ),
  )
  stalled.on('error', () => {})
  await new Promise((resolve) => stalled.once('data', resolve))
  stalled.pause()
  const reader = await new RawSocket(server.webSocketUrl).hello('bob')
  reader.subscribe('1', BIG)
  await expect.poll(() => server.broadcast.size).toBe(2)
  for (let n = 0; n < 1_000; n++) server.broadcast.publish({ n, cursor: `c${n}` })
  await expect.poll(() => server.broadcast.size, { timeout: 10_000 }).toBe(1)
  await reader.frame(() => reader.frames.filter(({ type }) => type === 'next').length === 1_000)
  reader.socket.terminate()
  stalled.destroy()
})

test('R37 a socket whose client stops reading holds its source back instead of filling memory', async () => {
  const server = await start({ limits: { keepAliveMs: 60_000 } })
  const stalled = await new RawSocket(server.webSocketUrl).hello()
  stalled.subscribe('1', BIG)
  await expect.poll(() => server.broadcast.size).toBe(1)
  ;(stalled.socket as unknown as { _socket: { pause(): void } })._socket.pause()
  const made = () => server.contexts.length
  for (let n = 0; n < 3_000; n++) server.broadcast.publish({ n, cursor: `c${n}` })
  // Settles far below 3,000: what the two sockets' buffers hold, and then it waits for room.
  let before = -1
  await expect
    .poll(
      () => {
        const still = made() === before
        before = made()
        return still && before > 1
      },
      { interval: 200 },
    )
    .toBe(true)
  expect(made()).toBeLessThan(2_500)
  stalled.socket.terminate()
  await expect.poll(() => server.broadcast.size).toBe(0)
})
