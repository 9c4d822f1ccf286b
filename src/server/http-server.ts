import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { GRAPHQL_PATH, GraphqlEndpoint, type ApiOptions } from './graphql-endpoint.ts'
import type { ReadinessCheck } from './health.ts'
import { closing, listen } from './listening.ts'
import type { Logger } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { OpenConnections } from './open-connections.ts'
import { Origins } from './origins.ts'
import { PlainRoutes } from './plain-routes.ts'
import { RestEndpoint } from './rest/rest-endpoint.ts'

export interface ServerOptions<Context> {
  /** Null in a process that only works: it serves health and metrics. */
  readonly api: ApiOptions<Context> | null
  readonly host: string
  /** 0: a free one. */
  readonly port: number
  /** Port of `/metrics`; null: on the main port, for requests from this machine only. */
  readonly metricsPort: number | null
  readonly readiness: readonly ReadinessCheck[]
  /** What is under way gets so long at a stop, in milliseconds. */
  readonly drainMs: number
  readonly metrics: Metrics
  readonly log: Logger
}

// An idle connection is kept longer than load balancers keep theirs (60 s), so that none is reused as it closes.
const TIMEOUTS = { headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 65_000 }

/** The listening process: plain routes, REST and the GraphQL endpoint on one port. */
export class RegieServer<Context> {
  readonly #options: ServerOptions<Context>
  readonly #endpoint: GraphqlEndpoint<Context> | null
  readonly #rest: RestEndpoint | null
  readonly #plain: PlainRoutes
  readonly #server: Server
  readonly #metricsServer: Server | null
  #draining = false
  #stopped: Promise<void> | null = null

  constructor(options: ServerOptions<Context>) {
    const { api, metrics, log, metricsPort } = options
    this.#options = options
    this.#endpoint = api === null ? null : new GraphqlEndpoint({ ...api, metrics, log })
    this.#rest =
      api === null
        ? null
        : new RestEndpoint({
            routes: api.rest ?? [],
            authenticate: api.authenticate,
            origins: new Origins(api.allowedOrigins),
            limits: api.limits,
            afterWrite: () => api.afterMutation?.(),
            draining: () => this.#draining,
            metrics,
            log,
          })
    this.#plain = new PlainRoutes({ ...options, metricsHere: metricsPort === null, draining: () => this.#draining })
    this.#server = createServer(
      { ...TIMEOUTS, maxHeaderSize: 16 * 1024 },
      (request, response) => void this.#answer(request, response),
    )
    if (this.#endpoint === null) this.#server.on('upgrade', (_request, socket) => socket.destroy())
    else this.#endpoint.attach(this.#server)
    this.#metricsServer =
      metricsPort === null ? null : createServer((_request, response) => void this.#plain.writeMetrics(response))
  }

  /** WebSockets and event streams; null in a process without the API. */
  get connections(): OpenConnections | null {
    return this.#endpoint?.connections ?? null
  }

  /** Listens. @throws StartupError when the address cannot be had */
  async start(): Promise<{ readonly url: string; readonly port: number }> {
    const { host, port, metricsPort } = this.#options
    await listen(this.#server, host, port, 'PORT')
    if (this.#metricsServer !== null) await listen(this.#metricsServer, host, metricsPort!, 'METRICS_PORT')
    const address = this.#server.address() as AddressInfo
    const shownHost = host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host
    return { url: `http://${shownHost}:${address.port}`, port: address.port }
  }

  /**
   * Turns `ready` off, lets the endpoint drain, then stops listening: a load balancer sees the 503 and sends
   * nothing more, instead of finding the door shut. Safe to call again.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    this.#draining = true
    const { drainMs } = this.#options
    await Promise.all([this.#endpoint?.drain(drainMs), this.#rest?.drain(drainMs)])
    await Promise.all([closing(this.#server), closing(this.#metricsServer)])
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader('x-content-type-options', 'nosniff')
    const isGraphql = request.url?.split('?', 1)[0] === GRAPHQL_PATH
    try {
      const route = this.#rest?.routeOf(request) ?? null
      if (isGraphql && this.#endpoint !== null) await this.#endpoint.answer(request, response)
      else if (route !== null) await this.#rest!.answer(route, request, response)
      else await this.#plain.answer(request, response)
    } catch (error) {
      this.#options.log.error({ err: error }, 'unexpected error in a route')
      response.destroy()
    }
  }
}
