import { createClient, type Client } from 'graphql-ws'
import { tokenFrom, type Answer, type TokenSource } from './connection.ts'
import { networkError, RegieError, type ResponseError } from './errors.ts'
import type { Transport } from './transport.ts'

const KEEP_ALIVE_MS = 12_000
/** The server's word for a token that it does not accept, or that has ended. */
const FORBIDDEN = 4403

export interface WebSocketParts {
  readonly url: string
  readonly token: TokenSource
  /** Needed where there is no global WebSocket, as in Node 20: the package `ws`. */
  readonly webSocketImpl: unknown
}

/** Subscriptions over one shared WebSocket, opened with the first and closed after the last of them. */
export function webSocketTransport({ url, token, webSocketImpl }: WebSocketParts): Transport {
  let refused = false
  let client: Client | null = null
  const connect = (): Client =>
    createClient({
      url,
      ...(webSocketImpl === undefined ? {} : { webSocketImpl }),
      connectionParams: async () => ({ authorization: `Bearer ${await tokenFrom(token, refused)}` }),
      keepAlive: KEEP_ALIVE_MS,
      // Whoever subscribes resumes by itself, with its own last cursor.
      retryAttempts: 0,
      on: {
        connected: () => (refused = false),
        closed: (event) => {
          if (codeOf(event) === FORBIDDEN) refused = true
        },
      },
    })
  return {
    run(body, next, signal) {
      client ??= connect()
      const { subscribe } = client
      return new Promise<void>((resolve, reject) => {
        let unsubscribe: () => void = () => {}
        const finish = (settle: () => void) => {
          signal.removeEventListener('abort', stop)
          settle()
        }
        const stop = () => {
          unsubscribe()
          finish(resolve)
        }
        signal.addEventListener('abort', stop, { once: true })
        unsubscribe = subscribe(body as { query: string }, {
          next: (answer) => next(answer as Answer),
          error: (error) => finish(() => reject(asRegieError(error))),
          complete: () => finish(resolve),
        })
      })
    },
    dispose: async () => {
      await client?.dispose()
    },
  }
}

const codeOf = (event: unknown): unknown => (event as { code?: unknown } | null)?.code

function asRegieError(error: unknown): RegieError {
  if (Array.isArray(error)) return new RegieError(error as ResponseError[])
  if (codeOf(error) === FORBIDDEN) {
    const message = 'The server did not accept the token, or it has ended.'
    return new RegieError([{ message, extensions: { code: 'UNAUTHENTICATED' } }], { cause: error })
  }
  return networkError('The connection broke or could not be made.', error)
}
