import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { useFixtureServer, type RunningFixture } from './fixture-server.ts'

const start = useFixtureServer()

/** Sends bytes as they are and resolves to all that came back. */
function raw(server: RunningFixture, text: string, afterwards: (write: (more: string) => void) => void = () => {}) {
  return new Promise<string>((resolve) => {
    const { hostname, port } = new URL(server.url)
    const socket = connect(Number(port), hostname, () => socket.write(text))
    let answer = ''
    socket.on('data', (chunk) => {
      answer += String(chunk)
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', () => {})
    afterwards((more) => socket.write(more))
  })
}

const head = (lines: string[]) =>
  `POST /graphql HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${lines.join('\r\n')}\r\n\r\n`

for (const type of [
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'text/plain',
  'application/graphql',
  'application/json; charset=latin1',
  '',
]) {
  test(`R50 a body of type "${type}" is refused with 415 and changes nothing`, async () => {
    const server = await start()
    const body = new TextEncoder().encode('query=mutation%7Bsecond%7D')
    const response = await server.post(body, { 'content-type': type })
    expect(response.status).toBe(415)
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_USER_INPUT' } }] })
    expect(server.secondRan).toBe(0)
  })
}

test('R50 a compressed body is refused with 415', async () => {
  const server = await start()
  expect((await server.post({ query: '{ hello }' }, { 'content-encoding': 'gzip' })).status).toBe(415)
})

test('R45 a mutation or a subscription by GET is refused', async () => {
  const server = await start()
  const get = (query: string) =>
    fetch(`${server.graphqlUrl}?query=${encodeURIComponent(query)}`, { headers: { authorization: 'Bearer ann' } })
  expect((await get('mutation { second }')).status).toBe(405)
  expect(server.secondRan).toBe(0)
  expect((await get('subscription { ticks { n } }')).status).toBe(406)
  expect(server.broadcast.size).toBe(0)
  expect(await (await get('{ hello }')).json()).toEqual({ data: { hello: 'hello you' } })
})

test('R46 a batch is refused', async () => {
  const server = await start()
  expect((await server.post([{ query: '{ hello }' }, { query: '{ hello }' }])).status).toBe(400)
})

test('R48 a body above 256 KiB is refused with 413, declared or not', async () => {
  const server = await start()
  const large = JSON.stringify({ query: '{ hello }', variables: { x: 'x'.repeat(256 * 1024) } })
  expect((await server.post(large)).status).toBe(413)
  const chunked = await raw(
    server,
    `${head(['content-type: application/json', 'transfer-encoding: chunked'])}${large.length.toString(16)}\r\n${large}\r\n0\r\n\r\n`,
  )
  expect(chunked).toMatch(/^HTTP\/1\.1 413 /)
})

test('R48 a body that does not arrive in time is refused with 408', async () => {
  const server = await start({ limits: { bodyMs: 100 } })
  const answer = await raw(server, `${head(['content-type: application/json', 'content-length: 100'])}{"query":`)
  expect(answer).toMatch(/^HTTP\/1\.1 408 /)
})

for (const [name, body] of [
  ['broken UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d])],
  ['broken JSON', '{"query":'],
  ['a bare number', '5'],
  ['null', 'null'],
  ['nothing', ''],
] as const) {
  test(`R48 a body of ${name} is refused with 400 and a code`, async () => {
    const server = await start()
    const response = await server.post(body)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_USER_INPUT' } }] })
  })
}

test('R48 __proto__ in a body or in variables touches no prototype', async () => {
  const server = await start()
  const response = await server.post(
    '{"query":"query ($name: String) { hello(name: $name) }","variables":{"__proto__":{"polluted":1},"name":"ann"}}',
  )
  expect(await response.json()).toEqual({ data: { hello: 'hello ann' } })
  await server.post('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"query":"{ hello }"}')
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
})

test('R48 variables nested deeper than 40 levels are refused', async () => {
  const server = await start()
  const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`
  const response = await server.post(
    `{"query":"query ($a: Int) { __typename @include(if: true) }","variables":${deep}}`,
  )
  expect(await response.json()).toMatchObject({
    errors: [{ extensions: { code: expect.stringMatching(/BAD_USER_INPUT|GRAPHQL_VALIDATION_FAILED/) } }],
  })
  const valid = await server.post(`{"query":"query ($name: String) { hello(name: $name) }","variables":${deep}}`)
  expect(await valid.json()).toMatchObject({ errors: [{ message: 'Variables may be nested 40 levels deep.' }] })
})

const UNSTORABLE = 'A text may hold neither the character NUL nor half of a surrogate pair.'
const refusedText = { errors: [{ message: UNSTORABLE, extensions: { code: 'BAD_USER_INPUT' } }] }

for (const [name, text] of [
  ['NUL', 'a\0b'],
  ['half a surrogate pair', 'a\ud800'],
] as const) {
  test(`R48 a variable that holds ${name} is refused, as a text, in a list and as a key`, async () => {
    const server = await start()
    const query = 'query ($name: String) { hello(name: $name) }'
    for (const variables of [{ name: text }, { name: 'ann', other: [text] }, { name: 'ann', other: { [text]: 1 } }])
      expect(await (await server.post({ query, variables })).json()).toMatchObject(refusedText)
    expect(server.contexts).toEqual([])
  })
}

test('R48 a document that holds NUL in a text is refused; what is whole is not', async () => {
  const server = await start()
  expect(await (await server.post({ query: '{ hello(name: "a\\u0000b") }' })).json()).toMatchObject(refusedText)
  const whole = await server.post({ query: '{ hello(name: "\\ud83d\\ude00") }' })
  expect(await whole.json()).toEqual({ data: { hello: 'hello 😀' } })
})

test('R45 broken JSON in the address of a GET request is the client’s fault', async () => {
  const server = await start()
  const get = (rest: string) =>
    fetch(`${server.graphqlUrl}?query={hello}&${rest}`, { headers: { authorization: 'Bearer ann' } })
  for (const rest of ['variables={', 'extensions=%00', 'variables=[]']) {
    const response = await get(rest)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_USER_INPUT' } }] })
  }
  expect(await (await get('variables=')).json()).toEqual({ data: { hello: 'hello you' } })
})

test('R52 only listed origins get CORS headers, and none with credentials', async () => {
  const server = await start()
  const preflight = (origin: string) => fetch(server.graphqlUrl, { method: 'OPTIONS', headers: { origin } })
  const listed = await preflight('https://app.example')
  expect(listed.status).toBe(204)
  expect(Object.fromEntries(listed.headers)).toMatchObject({
    'access-control-allow-origin': 'https://app.example',
    'access-control-allow-headers': 'content-type, authorization, x-request-id, x-tenant-id, idempotency-key',
    'access-control-max-age': '600',
    vary: 'Origin',
  })
  expect(listed.headers.get('access-control-allow-credentials')).toBeNull()
  const other = await preflight('https://evil.example')
  expect(other.headers.get('access-control-allow-origin')).toBeNull()
})

test('R38 a request without a token gets 401, but for the schema itself', async () => {
  const server = await start()
  const anonymous = (query: string) =>
    fetch(server.graphqlUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    })
  const refused = await anonymous('{ hello }')
  expect(refused.status).toBe(401)
  expect(refused.headers.get('www-authenticate')).toBe('Bearer')
  expect(await refused.json()).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] })
  expect((await anonymous('{ __schema { queryType { name } } hello }')).status).toBe(401)
  expect((await anonymous('{ __schema { queryType { name } } }')).status).toBe(200)
})

test('R38 a bad token gets 401 whatever it asks for', async () => {
  const server = await start()
  const response = await server.post({ query: '{ __typename }' }, { authorization: 'Bearer bad' })
  expect(response.status).toBe(401)
})

test('R49 without introspection the schema is closed, nothing is suggested, and strangers get no validation', async () => {
  const server = await start({ introspection: false })
  const closed = (await (await server.post({ query: '{ __schema { __typename } }' })).json()) as object
  expect(closed).toMatchObject({ errors: [{ extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }] })
  expect(JSON.stringify(await (await server.post({ query: '{ helo }' })).json())).not.toContain('Did you mean')
  const stranger = await fetch(server.graphqlUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: '{ helo }' }),
  })
  expect(stranger.status).toBe(401)
  expect((await fetch(`${server.graphqlUrl}?query={helo}`)).status).toBe(401)
})

test('R49 with introspection a slip is answered with a suggestion', async () => {
  const server = await start()
  expect(JSON.stringify(await (await server.post({ query: '{ helo }' })).json())).toContain('Did you mean')
})

test('R56 operations without a name are refused where names are required', async () => {
  const server = await start({ requireOperationName: true })
  expect(await (await server.post({ query: '{ hello }' })).json()).toMatchObject({
    errors: [{ extensions: { code: 'BAD_USER_INPUT' } }],
  })
  expect(await (await server.post({ query: 'query Hello { hello }' })).json()).toEqual({ data: { hello: 'hello you' } })
})

test('R55 a sane request id is kept, echoed and reaches the resolvers; another one is replaced', async () => {
  const server = await start()
  const kept = await server.post({ query: '{ correlationId }' }, { 'x-request-id': 'abc-1' })
  expect(kept.headers.get('x-request-id')).toBe('abc-1')
  expect(await kept.json()).toEqual({ data: { correlationId: 'abc-1' } })
  const replaced = await server.post({ query: '{ correlationId }' }, { 'x-request-id': '"; drop table' })
  expect(replaced.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
})

test('R48 an operation that takes too long is given up with TIMEOUT, and its later mutations never start', async () => {
  const server = await start({ limits: { operationMs: 100 } })
  const response = await server.post({ query: 'mutation { slow second }' })
  expect(response.status).toBe(504)
  expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'TIMEOUT', retryable: true } }] })
  expect(server.secondRan).toBe(0)
  expect(server.contexts.at(-1)!.signal.aborted).toBe(true)
})

test('R48 a client that leaves aborts what it had asked for', async () => {
  const server = await start()
  const leaving = new AbortController()
  const asked = fetch(server.graphqlUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer ann' },
    body: JSON.stringify({ query: '{ held }' }),
    signal: leaving.signal,
  }).catch(() => null)
  await server.entered
  leaving.abort()
  await asked
  await expect.poll(() => server.contexts.at(-1)!.signal.aborted).toBe(true)
  server.release()
})

test('R53 GraphiQL is served to a browser when it is on, and not otherwise', async () => {
  const page = { headers: { accept: 'text/html' } }
  const html = await (await fetch((await start()).graphqlUrl, page)).text()
  expect(html).toContain('<title>Regie</title>')
  // Whole in itself: nothing comes from another host.
  expect(html).not.toMatch(/<(script|link)[^>]+(src|href)="?https?:(?![^>]*icon)/)
  expect((await fetch((await start({ graphiql: false })).graphqlUrl, page)).status).not.toBe(200)
})
