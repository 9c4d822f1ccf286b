import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { GraphQLSchema } from 'graphql'
import { apiError } from '../schema/errors/index.ts'
import { NOBODY, type Authenticate } from './callers.ts'
import { correlationIdOf } from './correlation.ts'
import type { DocumentLimits } from './document-limits.ts'
import { ERROR_CODES } from './error-codes.ts'
import { makeGraphqlHttp, type HandleGraphql } from './graphql-http.ts'
import { readinessOf, type ReadinessCheck } from './health.ts'
import type { Incoming } from './incoming.ts'
import { closing, listen } from './listening.ts'
import type { Logger } from './log.ts'
import { masked } from './masking.ts'
import type { Metrics } from './metrics.ts'
import { OpenConnections } from './open-connections.ts'
import { Operations, type OperationRequest } from './operations.ts'
import { Origins } from './origins.ts'
import { BodyRefused, readJsonBody } from './request-body.ts'
import { writeEventStream } from './server-sent-events.ts'
import { WebSockets } from './web-socket.ts'

/** How much a client may ask of the process. Milliseconds and bytes. */
export interface ServerLimits extends DocumentLimits {
  readonly bodyBytes: number
  readonly bodyMs: number
  readonly messageBytes: number
  readonly operationMs: number
  readonly connectionInitMs: number
  readonly keepAliveMs: number
  readonly stalledMs: number
  readonly subscriptionsPerConnection: number
  readonly connectionsPerSubject: number
  readonly messagesPerTenSeconds: number
}

export const DEFAULT_LIMITS: ServerLimits = {
  tokens: 2_000,
  depth: 12,
  aliases: 30,
  rootFields: 20,
  directives: 20,
  fields: 1_000,
  bodyBytes: 256 * 1024,
  bodyMs: 10_000,
  messageBytes: 64 * 1024,
  operationMs: 10_000,
  connectionInitMs: 3_000,
  keepAliveMs: 12_000,
  stalledMs: 30_000,
  subscriptionsPerConnection: 50,
  connectionsPerSubject: 20,
  messagesPerTenSeconds: 200,
}

export interface ServerOptions<Context> {
  readonly schema: GraphQLSchema
  readonly context: (incoming: Incoming) => Context | Promise<Context>
  readonly authenticate: Authenticate
  readonly host: string
  /** 0: a free one. */
  readonly port: number
  readonly allowedOrigins: readonly string[]
  readonly introspection: boolean
  readonly graphiql: boolean
  readonly requireOperationName: boolean
  readonly limits: ServerLimits
  /** Port of `/metrics`; null: on the main port, for requests from this machine only. */
  readonly metricsPort: number | null
  readonly readiness: readonly ReadinessCheck[]
  /** In-flight requests get so long at a stop, in milliseconds. */
  readonly drainMs: number
  readonly metrics: Metrics
  readonly log: Logger
}

const GRAPHQL_PATH = '/graphql'

/** The listening process: plain routes, GraphQL over HTTP, event streams and WebSockets on one port. */
export class RegieServer<Context> {
  readonly connections: OpenConnections
  readonly #options: ServerOptions<Context>
  readonly #operations: Operations<Context>
  readonly #origins: Origins
  readonly #graphql: HandleGraphql
  readonly #sockets: WebSockets<Context>
  readonly #server: Server
  readonly #metricsServer: Server | null
  #draining = false
  #stopped: Promise<void> | null = null

  constructor(options: ServerOptions<Context>) {
    const { metrics, limits } = options
    this.#options = options
    this.#origins = new Origins(options.allowedOrigins)
    this.connections = new OpenConnections(metrics, { perSubject: limits.connectionsPerSubject })
    this.#operations = new Operations({ ...options, deadlineMs: limits.operationMs })
    this.#graphql = makeGraphqlHttp({ ...options, operations: this.#operations, path: GRAPHQL_PATH })
    this.#sockets = new WebSockets({
      ...options,
      operations: this.#operations,
      connections: this.connections,
      origins: this.#origins,
      path: GRAPHQL_PATH,
      maxPayloadBytes: limits.messageBytes,
      initWaitMs: limits.connectionInitMs,
      keepAliveMs: limits.keepAliveMs,
      subscriptionsPerConnection: limits.subscriptionsPerConnection,
      messagesPerTenSeconds: limits.messagesPerTenSeconds,
    })
    this.#server = createServer(
      { headersTimeout: 10_000, requestTimeout: limits.bodyMs + 5_000, maxHeaderSize: 16 * 1024 },
      (request, response) => void this.#answer(request, response),
    )
    this.#sockets.attach(this.#server)
    this.#metricsServer =
      options.metricsPort === null ? null : createServer((_request, response) => void this.#writeMetrics(response))
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
   * Turns `ready` off, takes no new request, ends streams so that clients go on elsewhere after their last
   * cursor, and lets what is under way finish within the drain time. Safe to call again.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    this.#draining = true
    const { drainMs } = this.#options
    const closed = [this.#server, this.#metricsServer].map((server) => closing(server, drainMs))
    this.connections.endAll()
    await Promise.all([...closed, this.#sockets.close(Math.min(drainMs, 2_000))])
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const correlationId = correlationIdOf(request)
    const log = this.#options.log.child({ correlationId })
    response.setHeader('x-request-id', correlationId)
    response.setHeader('x-content-type-options', 'nosniff')
    try {
      await this.#route(request, response, correlationId, log)
    } catch (error) {
      this.#refuse(response, error, { correlationId, log })
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse, correlationId: string, log: Logger): Promise<void> {
    switch (request.url?.split('?', 1)[0]) {
      case GRAPHQL_PATH:
        return this.#answerGraphql(request, response, correlationId, log)
      case '/health/live':
        return writeJson(response, 200, { live: true })
      case '/health/ready':
        return this.#writeReadiness(response)
      case '/metrics':
        if (this.#metricsServer === null && fromThisMachine(request)) return this.#writeMetrics(response)
        return writeJson(response, 404, NOT_FOUND)
      default:
        return writeJson(response, 404, NOT_FOUND)
    }
  }

  async #answerGraphql(
    request: IncomingMessage,
    response: ServerResponse,
    correlationId: string,
    log: Logger,
  ): Promise<void> {
    this.#origins.writeHeaders(request, response)
    if (request.method === 'OPTIONS') return void response.writeHead(204).end()
    if (this.#draining) throw apiError('SERVICE_UNAVAILABLE', 'The server is restarting. Try again in a moment.')
    const { limits } = this.#options
    const body =
      request.method === 'POST' ? await readJsonBody(request, { bytes: limits.bodyBytes, ms: limits.bodyMs }) : null
    const caller = await this.#options.authenticate(request.headers.authorization, correlationId)
    // Without introspection a stranger has nothing to ask, and validation would tell the schema name by name.
    if (caller === NOBODY && !this.#options.introspection)
      throw apiError('UNAUTHENTICATED', 'This needs a token: send "Authorization: Bearer <token>".')
    if (body !== null && wantsEventStream(request)) {
      const subscription = requestOf(body)
      if (subscription !== null) {
        if (!this.connections.admits(caller)) throw apiError('RATE_LIMITED', 'Too many open streams for one subject.')
        const open = this.#operations.subscribe(subscription, (signal) => ({ ...caller, correlationId, signal, log }))
        return writeEventStream(
          response,
          open,
          caller,
          { correlationId, log },
          { ...limits, ...this.#options, connections: this.connections },
        )
      }
    }
    const abort = new AbortController()
    response.once('close', () => {
      if (!response.writableFinished) abort.abort()
    })
    const incoming = { ...caller, correlationId, signal: abort.signal, log }
    await this.#graphql(request, response, { incoming, abort: (reason) => abort.abort(reason), body })
  }

  /** Answers what was refused before GraphQL began, in GraphQL's shape. */
  #refuse(response: ServerResponse, error: unknown, masking: { correlationId: string; log: Logger }): void {
    const refused = error instanceof BodyRefused ? apiError('BAD_USER_INPUT', error.message) : error
    const shown = masked(refused, masking)
    const code = shown.extensions['code'] as keyof typeof ERROR_CODES
    const status = error instanceof BodyRefused ? error.status : ERROR_CODES[code].status
    this.#options.metrics.refusals.inc({ status: String(status) })
    if (response.headersSent) return void response.destroy()
    if (status === 401) response.setHeader('www-authenticate', 'Bearer')
    if (ERROR_CODES[code].retryable) response.setHeader('retry-after', '1')
    // The rest of a body that was not read would be taken for the next request.
    if (error instanceof BodyRefused || this.#draining) response.setHeader('connection', 'close')
    writeJson(response, status, { errors: [shown.toJSON()] })
  }

  async #writeReadiness(response: ServerResponse): Promise<void> {
    const { ready, checks } = await readinessOf(this.#options.readiness)
    const isReady = ready && !this.#draining
    const serving = this.#draining ? 'stopping' : 'ok'
    writeJson(response, isReady ? 200 : 503, { ready: isReady, checks: { serving, ...checks } })
  }

  async #writeMetrics(response: ServerResponse): Promise<void> {
    const { registry } = this.#options.metrics
    response.writeHead(200, { 'content-type': registry.contentType }).end(await registry.metrics())
  }
}

const NOT_FOUND = { message: `Not found. GraphQL is at ${GRAPHQL_PATH}.` }

function writeJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
}

const wantsEventStream = (request: IncomingMessage): boolean =>
  /\btext\/event-stream\b/i.test(request.headers.accept ?? '')

/** The operation of a body when it may be a subscription; null leaves the body, and what is wrong with it, to Yoga. */
function requestOf(body: string): OperationRequest | null {
  try {
    const { query, operationName, variables } = JSON.parse(body) as Record<string, unknown>
    if (typeof query !== 'string' || !/\bsubscription\b/.test(query)) return null
    if (operationName != null && typeof operationName !== 'string') return null
    if (variables != null && (typeof variables !== 'object' || Array.isArray(variables))) return null
    return { query, operationName, variables: variables as Record<string, unknown> | null | undefined }
  } catch {
    return null
  }
}

// Behind a proxy on the same machine every request looks local; the proxy says for whom it asks.
function fromThisMachine(request: IncomingMessage): boolean {
  if (request.headers['x-forwarded-for'] !== undefined || request.headers['forwarded'] !== undefined) return false
  return /^(::1|(::ffff:)?127\.)/.test(request.socket.remoteAddress ?? '')
}
