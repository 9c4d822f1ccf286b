import { afterEach, describe, expect, test } from 'vitest'
import { useFixtureServer, type RunningFixture } from './fixture-server.ts'
import { openSse, RawSocket } from './raw-socket.ts'

const start = useFixtureServer()

/** What each class of error must look like on the wire; `requestId` is checked apart. */
const FIELDS = {
  unexpected: {
    message: 'Something went wrong on our side. Tell your operator the request id.',
    extensions: { code: 'INTERNAL_SERVER_ERROR', retryable: false },
  },
  notFound: {
    message: 'The draft does not exist.',
    extensions: { code: 'BAD_USER_INPUT', retryable: false, reason: 'NOT_FOUND' },
  },
  conflict: {
    message: 'Somebody was faster.',
    extensions: { code: 'BAD_USER_INPUT', retryable: false, reason: 'draft.changed' },
  },
  forbidden: { message: 'Not for you.', extensions: { code: 'FORBIDDEN', retryable: false } },
  uncoded: { message: 'Bad cursor.', extensions: { code: 'BAD_USER_INPUT', retryable: false } },
  strangeCode: {
    message: 'Something went wrong on our side. Tell your operator the request id.',
    extensions: { code: 'INTERNAL_SERVER_ERROR', retryable: false },
  },
  locked: {
    message: 'The database did not answer within the time allowed. Nothing was changed; try again.',
    extensions: { code: 'TIMEOUT', retryable: true },
  },
} as const

interface Wire {
  data?: unknown
  errors: { message: string; path?: unknown; locations?: unknown; extensions: Record<string, unknown> }[]
}

/** The error without its request id, which must be there. */
function goldenOf(result: Wire): unknown {
  expect(result.errors).toHaveLength(1)
  const { message, extensions } = result.errors[0]!
  const { requestId, ...rest } = extensions
  expect(requestId).toMatch(/^[\w-]{36}$/)
  return { message, extensions: rest }
}

for (const accept of ['application/json', 'application/graphql-response+json']) {
  describe(`R16 over HTTP as ${accept}`, () => {
    for (const [field, golden] of Object.entries(FIELDS)) {
      test(`R16 ${field} has its golden shape beside data`, async () => {
        const server = await start()
        const response = await server.post({ query: `{ ${field} }` }, { accept })
        expect(response.status).toBe(200)
        expect(response.headers.get('content-type')).toBe(`${accept}; charset=utf-8`)
        const result = (await response.json()) as Wire
        expect(result.data).toEqual({ [field]: null })
        expect(result.errors[0]!.path).toEqual([field])
        expect(result.errors[0]!.locations).toEqual([{ line: 1, column: 3 }])
        expect(goldenOf(result)).toEqual(golden)
      })
    }

    const whole = [
      ['GRAPHQL_PARSE_FAILED', { query: '{ hello' }],
      ['GRAPHQL_VALIDATION_FAILED', { query: '{ nothing }' }],
      ['BAD_USER_INPUT', { query: 'query ($of: Int!) { number(of: $of) }', variables: { of: 'many' } }],
      ['BAD_USER_INPUT', { query: 'query A { hello } query B { hello }' }],
      ['BAD_USER_INPUT', { query: 'query A { hello }', operationName: 'C' }],
      ['QUERY_TOO_COMPLEX', { query: `{ ${'hello '.repeat(2_001)} }` }],
    ] as const
    for (const [code, body] of whole) {
      test(`R18 ${code} for ${JSON.stringify(body).slice(0, 60)}`, async () => {
        const server = await start()
        const response = await server.post(body, { accept })
        expect(response.status).toBe(accept === 'application/json' ? 200 : 400)
        const result = (await response.json()) as Wire
        expect(result).not.toHaveProperty('data')
        expect(result.errors[0]!.extensions).toMatchObject({ code, retryable: false })
        expect(result.errors[0]!.extensions).not.toHaveProperty('http')
      })
    }
  })
}

test('R13 the result of a first mutation survives an unexpected error of the second', async () => {
  const server = await start()
  const result = (await (await server.post({ query: 'mutation { change fail }' })).json()) as Wire
  expect(result.data).toEqual({ change: 'changed', fail: null })
  expect(goldenOf(result)).toEqual(FIELDS.unexpected)
})

test('R17 no transport lets a secret of an unexpected error through, and the log has its cause once', async () => {
  const server = await start()
  const response = await server.post({ query: '{ unexpected }' }, { 'x-request-id': 'trace-me-1' })
  const text = await response.text()
  expect(text).not.toContain('hunter2')
  expect(text).toContain('trace-me-1')
  const causes = server
    .logged()
    .split('\n')
    .filter((line) => line.includes('"unexpected error"'))
  expect(causes).toHaveLength(1)
  expect(JSON.parse(causes[0]!)).toMatchObject({
    correlationId: 'trace-me-1',
    path: 'unexpected',
    err: { name: 'Error' },
  })
  expect(causes[0]).not.toContain('ann@example.org')
})

test('R17 a non-null field without a value is unexpected, and blanks no more than its parent', async () => {
  const server = await start()
  const result = (await (await server.post({ query: '{ strict }' })).json()) as Wire
  expect(result.data).toBeNull()
  expect(goldenOf(result)).toEqual(FIELDS.unexpected)
})

/** One subscription's whole conversation, the same for both streaming transports. */
const TRANSPORTS = {
  WebSocket: async (server: RunningFixture, query: string) => {
    const socket = await new RawSocket(server.webSocketUrl).hello()
    socket.subscribe('1', query)
    return {
      next: async (n: number) => {
        await socket.frame(() => socket.frames.filter(({ type }) => type === 'next').length > n)
        return socket.frames.filter(({ type }) => type === 'next')[n]!.payload as Wire
      },
      refusal: async () => ({
        errors: (await socket.frame(({ type }) => type === 'error')).payload as Wire['errors'],
      }),
      ended: async () => {
        socket.send({ id: 'x', type: 'subscribe', payload: { query: 'subscription { refused { n } }' } })
        await socket.frame(({ id }) => id === 'x')
        return socket.frames.filter(({ id }) => id === '1').map(({ type }) => type)
      },
      close: () => socket.socket.terminate(),
    }
  },
  SSE: async (server: RunningFixture, query: string) => {
    const { events } = await openSse(server.graphqlUrl, query)
    const seen: { event: string; data: unknown }[] = []
    const until = async (n: number) => {
      while (seen.length <= n) {
        const { value, done } = await events.next()
        if (done === true) throw new Error('The stream ended too early.')
        seen.push(value as { event: string; data: unknown })
      }
      return seen[n]!
    }
    return {
      next: async (n: number) => (await until(n)).data as Wire,
      refusal: async () => (await until(0)).data as Wire,
      ended: async () => {
        for await (const event of events) seen.push(event)
        // SSE has no frame "error": the errors travel in the last "next".
        return seen.map(({ event, data }) => (event === 'next' && !('data' in (data as object)) ? 'error' : event))
      },
      close: () => void events.return(),
    }
  },
}

for (const [transport, open] of Object.entries(TRANSPORTS)) {
  describe(`over ${transport}`, () => {
    let close = () => {}
    afterEach(() => close())

    const REFUSALS = {
      'subscription { refused { n } }': FIELDS.notFound.message,
      'subscription { unexpected { n } }': FIELDS.unexpected.message,
      'subscription { breaks { n } }': FIELDS.unexpected.message,
      'subscription { lapsed { n } }': 'The cursor is older than the log.',
      'subscription { cutOff { n } }': 'Too slow.',
      'subscription { nothing }': 'Cannot query field "nothing" on type "Subscription".',
      'subscription { ticks ': 'Syntax Error: Expected Name, found <EOF>.',
    }
    for (const [query, message] of Object.entries(REFUSALS)) {
      test(`R17 ${query} ends with exactly one error`, async () => {
        const server = await start()
        const stream = await open(server, query)
        close = stream.close
        const refusal = await stream.refusal()
        expect(refusal.errors.map((error) => error.message)).toEqual([message])
        expect(JSON.stringify(refusal)).not.toMatch(/secret|stack|"http"/)
        expect(refusal.errors[0]!.extensions).toHaveProperty('code')
        const kinds = await stream.ended()
        expect(kinds.filter((kind) => kind === 'error')).toHaveLength(1)
        expect(kinds.filter((kind) => kind === 'complete')).toHaveLength(transport === 'SSE' ? 1 : 0)
        expect(server.broadcast.size).toBe(0)
      })
    }

    test('R37 a cut-off carries the code and the cursor to go on from', async () => {
      const server = await start()
      const stream = await open(server, 'subscription { cutOff { n } }')
      close = stream.close
      const { errors } = await stream.refusal()
      expect(errors[0]!.extensions).toMatchObject({ code: 'SLOW_CONSUMER', cursor: 'c7', retryable: true })
    })

    test('R17 an error in one payload is masked and the stream goes on', async () => {
      const server = await start()
      const stream = await open(server, 'subscription { ticks { n broken } }')
      close = stream.close
      await expect.poll(() => server.broadcast.size).toBe(1)
      server.broadcast.publish({ n: 1, cursor: 'c1' })
      server.broadcast.publish({ n: 2, cursor: 'c2' })
      const first = await stream.next(0)
      expect(first.data).toEqual({ ticks: { n: 1, broken: null } })
      expect(goldenOf(first)).toEqual(FIELDS.unexpected)
      expect((await stream.next(1)).data).toEqual({ ticks: { n: 2, broken: null } })
    })

    test('R39 every event gets a context of its own', async () => {
      const server = await start()
      const stream = await open(server, 'subscription { ticks { context } }')
      close = stream.close
      await expect.poll(() => server.broadcast.size).toBe(1)
      const before = server.contexts.length
      for (const n of [1, 2, 3]) server.broadcast.publish({ n, cursor: `c${n}` })
      const seen = [await stream.next(0), await stream.next(1), await stream.next(2)]
      expect(seen.map(({ data }) => (data as { ticks: { context: number } }).ticks.context)).toEqual([
        before,
        before + 1,
        before + 2,
      ])
    })
  })
}

test('R19 a malformed document seen over WebSocket first is answered over HTTP as if it were new', async () => {
  const server = await start()
  const socket = await new RawSocket(server.webSocketUrl).hello()
  socket.subscribe('1', '{ hello')
  await socket.frame(({ type }) => type === 'error')
  for (let time = 0; time < 2; time++) {
    const response = await server.post({ query: '{ hello' }, { accept: 'application/graphql-response+json' })
    expect(response.status).toBe(400)
    expect(((await response.json()) as Wire).errors[0]!.extensions).toMatchObject({ code: 'GRAPHQL_PARSE_FAILED' })
  }
  socket.socket.terminate()
})
