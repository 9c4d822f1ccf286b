import { expect, test } from 'vitest'
import { causeOf, redact } from '../../src/server/log.ts'
import { useFixtureServer } from './fixture-server.ts'
import { RawSocket } from './raw-socket.ts'

const start = useFixtureServer()

test('R55 whatever a client sends, the log holds no token, no variable, no subject; every line has its correlation id', async () => {
  const server = await start()
  const secret = 'v4r14ble'
  const query = 'query Greeting ($name: String) { hello(name: $name) }'
  await server.post({ query, variables: { name: secret } }, { 'x-request-id': 'line-1' })
  await server.post({ query, variables: { name: { [secret]: secret } } })
  await server.post({ query: '{ unexpected }' })
  await server.post(`{"query": "${secret}`)
  await server.post({ query }, { authorization: 'Bearer bad' })
  const socket = await new RawSocket(server.webSocketUrl).hello()
  socket.subscribe('1', 'subscription { breaks { n } }', { name: secret })
  await socket.frame(({ type }) => type === 'error')
  socket.socket.terminate()

  const lines = server.logged().trim().split('\n')
  expect(lines.length).toBeGreaterThan(4)
  for (const line of lines) {
    expect(line).not.toMatch(/v4r14ble|Bearer|ann/)
    expect(JSON.parse(line)).toMatchObject({
      correlationId: expect.any(String) as string,
      level: expect.any(String) as string,
      msg: expect.any(String) as string,
    })
  }
  expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual(
    expect.objectContaining({ correlationId: 'line-1', operation: 'query', operationName: 'Greeting', code: 'OK' }),
  )
})

test('R55 no metric label holds what a client chose', async () => {
  const server = await start()
  await server.post({ query: 'query Ch0sen { hello }' })
  await server.post({ query: '{ nothing }' })
  const socket = await new RawSocket(server.webSocketUrl).hello()
  socket.subscribe('1', 'subscription Ch0sen { Ch0sen: ticks { n } }')
  await expect.poll(() => server.broadcast.size).toBe(1)
  const text = await server.metrics.registry.metrics()
  expect(text).not.toContain('Ch0sen')
  expect(text).toContain('regie_graphql_subscriptions_active{field="ticks"} 1')
  expect(text).toContain('regie_graphql_operation_seconds_count{operation="query",code="OK"} 1')
  socket.socket.terminate()
})

test('texts of errors lose tokens, passwords, addresses and quoted values', () => {
  expect(redact('got eyJhbGciOi.eyJzdWIi.c2ln from Bearer abc.def12345')).toBe('got [token] from Bearer [redacted]')
  expect(redact('cannot reach postgresql://regie:secret@db:5432/regie')).toBe(
    'cannot reach postgresql://[redacted]@db:5432/regie',
  )
  expect(redact('mail to ann.lee@example.org failed')).toBe('mail to [address] failed')
  expect(redact('Key (external_id)=(E-17) already exists.')).toBe('Key (external_id)=([values]) already exists.')
  expect(redact('Failing row contains (1, Ann, 4200).')).toBe('Failing row contains ([values]).')
})

test('an error is logged with its causes and nothing else that hangs on it', () => {
  const error = Object.assign(new Error('outer', { cause: new TypeError('inner') }), {
    row: { name: 'Ann' },
    code: '23505',
  })
  const shown = causeOf(error)
  expect(shown).toMatchObject({ name: 'Error', message: 'outer', code: '23505', cause: { name: 'TypeError' } })
  expect(JSON.stringify(shown)).not.toContain('Ann')
})

test('a cause that leads back to itself ends', () => {
  const error = new Error('round')
  error.cause = error
  expect(() => JSON.stringify(causeOf(error))).not.toThrow()
})
