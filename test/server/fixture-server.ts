import { afterEach } from 'vitest'
import { GraphQLError } from 'graphql'
import { NOBODY, type Authenticate, type Caller } from '../../src/server/callers.ts'
import type { ApiOptions } from '../../src/server/graphql-endpoint.ts'
import { RegieServer, type ServerOptions } from '../../src/server/http-server.ts'
import { DEFAULT_LIMITS, type ServerLimits } from '../../src/server/limits.ts'
import { makeLog } from '../../src/server/log.ts'
import { Metrics } from '../../src/server/metrics.ts'
import { makeFixture, type Fixture, type FixtureContext } from './fixture-schema.ts'

export interface RunningFixture extends Fixture {
  readonly url: string
  readonly graphqlUrl: string
  readonly webSocketUrl: string
  readonly server: RegieServer<FixtureContext>
  readonly metrics: Metrics
  /** Everything logged so far. */
  readonly logged: () => string
  readonly post: (body: unknown, headers?: Record<string, string>) => Promise<Response>
}

export type FixtureOptions = Partial<Omit<ApiOptions<FixtureContext>, 'limits'>> &
  Partial<Omit<ServerOptions<FixtureContext>, 'api'>> & { limits?: Partial<ServerLimits> }

export const TENANT = '0198c0de-0000-7000-8000-000000000001'

/** Stands in for tokens: `Bearer ann` is Ann for an hour, `Bearer ann+500` for 500 ms; `Bearer bad` is refused. */
export const authenticate: Authenticate = async (authorization, correlationId): Promise<Caller> => {
  if (authorization === undefined) return NOBODY
  const [, subject = '', life] = /^Bearer ([a-z0-9]+)(?:\+(\d+))?$/.exec(authorization) ?? []
  if (subject === '' || subject === 'bad')
    throw new GraphQLError('The token is not valid.', { extensions: { code: 'UNAUTHENTICATED' } })
  const tokenExpiresAt = new Date(Date.now() + Number(life ?? 3_600_000))
  const viewer = {
    tenantId: TENANT,
    subject,
    roles: ['reader'],
    tokenIssuedAt: new Date(),
    tokenExpiresAt,
    correlationId,
  }
  return { viewer, operator: null }
}

/** Starts servers that are stopped after the test. */
export function useFixtureServer(): (options?: FixtureOptions) => Promise<RunningFixture> {
  const running: RegieServer<FixtureContext>[] = []
  afterEach(async () => {
    await Promise.all(running.splice(0).map((server) => server.stop()))
  })
  return async (options = {}) => {
    const fixture = makeFixture()
    const metrics = new Metrics()
    const lines: string[] = []
    const server = new RegieServer<FixtureContext>({
      api: {
        schema: fixture.schema,
        context: (incoming) => {
          fixture.contexts.push(incoming)
          return { incoming }
        },
        authenticate,
        allowedOrigins: ['https://app.example'],
        introspection: true,
        graphiql: true,
        requireOperationName: false,
        ...options,
        limits: { ...DEFAULT_LIMITS, ...options.limits },
      },
      host: '127.0.0.1',
      port: 0,
      metricsPort: null,
      readiness: [],
      drainMs: 1_000,
      metrics,
      log: makeLog({ level: 'debug', destination: { write: (line) => void lines.push(line) } }),
      ...options,
    })
    running.push(server)
    const { url } = await server.start()
    const graphqlUrl = `${url}/graphql`
    const post = (body: unknown, headers: Record<string, string> = {}) =>
      fetch(graphqlUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer ann', ...headers },
        body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
      })
    // The fixture itself is kept: tests read its counters while the server changes them.
    return Object.assign(fixture, {
      url,
      graphqlUrl,
      webSocketUrl: graphqlUrl.replace(/^http/, 'ws'),
      server,
      metrics,
      post,
      logged: () => lines.join(''),
    })
  }
}
