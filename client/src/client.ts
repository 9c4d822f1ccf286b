import { answerIn, post, type HttpParts, type TokenSource } from './connection.ts'
import { RegieError } from './errors.ts'
import { requestBody, type Operation, type VariablesOf } from './operation.ts'
import { sseTransport } from './sse-transport.ts'
import { Subscription, type SubscriptionOptions } from './subscription.ts'
import type { Transport } from './transport.ts'
import { webSocketTransport } from './web-socket-transport.ts'

export interface RegieClientOptions {
  /** Where the API is: `https://host/graphql`. */
  readonly url: string
  readonly token: TokenSource
  /** Default: `url` with `ws` for `http`. */
  readonly webSocketUrl?: string
  /** Needed where there is no global WebSocket, as in Node 20: the package `ws`. */
  readonly webSocketImpl?: unknown
  /** Default: the global one. */
  readonly fetch?: typeof fetch
}

export interface RequestOptions {
  readonly signal?: AbortSignal
}

export interface SubscribeOptions extends SubscriptionOptions {
  /** Default `websocket`: one connection for all streams. `sse`: one request each, through any proxy. */
  readonly transport?: 'websocket' | 'sse'
}

/** A typed client of one tenant's API. */
export interface RegieClient {
  /** @throws RegieError */
  query<Result, Variables>(
    operation: Operation<Result, Variables>,
    ...rest: [...VariablesOf<Variables>, options?: RequestOptions]
  ): Promise<Result>
  /** What the mutation ended in is in its result: see `unwrap`. @throws RegieError */
  mutate<Result, Variables>(
    operation: Operation<Result, Variables>,
    ...rest: [...VariablesOf<Variables>, options?: RequestOptions]
  ): Promise<Result>
  /** Follows a stream over as many connections as it takes. The operation must select `cursor`. */
  subscribe<Result, Variables>(
    operation: Operation<Result, Variables>,
    ...rest: [...VariablesOf<Variables>, options?: SubscribeOptions]
  ): Subscription<NonNullable<Result[keyof Result]>>
  /** Ends all streams and closes their connections. */
  dispose(): Promise<void>
}

const ACCEPT = 'application/graphql-response+json, application/json;q=0.9'

export function createRegieClient(options: RegieClientOptions): RegieClient {
  const { url, token } = options
  const http: HttpParts = { url, token, fetch: options.fetch ?? ((...request) => globalThis.fetch(...request)) }
  const webSocketUrl = options.webSocketUrl ?? url.replace(/^http/, 'ws')
  const transports = new Map<string, Transport>()
  const disposed = new AbortController()
  const transport = (name: 'websocket' | 'sse'): Transport => {
    let known = transports.get(name)
    if (known === undefined) {
      const { webSocketImpl } = options
      known = name === 'sse' ? sseTransport(http) : webSocketTransport({ url: webSocketUrl, token, webSocketImpl })
      transports.set(name, known)
    }
    return known
  }
  const request = async <Result, Variables>(
    operation: Operation<Result, Variables>,
    variables?: Variables,
    { signal }: RequestOptions = {},
  ): Promise<Result> => {
    const response = await post(http, requestBody(operation, variables), ACCEPT, signal)
    const { data, errors } = await answerIn(response)
    if (errors !== undefined && errors.length > 0) throw new RegieError(errors, { data })
    return data as Result
  }
  const open = <Result, Variables>(
    operation: Operation<Result, Variables>,
    variables?: Variables,
    { transport: name = 'websocket', ...rest }: SubscribeOptions = {},
  ): Subscription<NonNullable<Result[keyof Result]>> =>
    new Subscription(transport(name), requestBody(operation, variables), rest, disposed.signal)
  return {
    query: request as RegieClient['query'],
    mutate: request as RegieClient['mutate'],
    subscribe: open as RegieClient['subscribe'],
    dispose: async () => {
      disposed.abort()
      await Promise.all([...transports.values()].map((known) => known.dispose()))
    },
  }
}
