import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { GraphQLSchema } from 'graphql'
import { apiError } from '../schema/errors/index.ts'
import { NOBODY, type Authenticate, type Caller } from './callers.ts'
import { correlationIdOf } from './correlation.ts'
import { ERROR_CODES } from './error-codes.ts'
import { makeGraphqlHttp, type HandleGraphql } from './graphql-http.ts'
import type { Incoming } from './incoming.ts'
import type { ServerLimits } from './limits.ts'
import type { Logger } from './log.ts'
import { masked, type Masking } from './masking.ts'
import type { Metrics } from './metrics.ts'
import { OpenConnections } from './open-connections.ts'
import { Operations, type OperationRequest } from './operations.ts'
import { Origins } from './origins.ts'
import { writeJson } from './plain-routes.ts'
import { BodyRefused, readJsonBody } from './request-body.ts'
import type { RestRoute } from './rest/rest-endpoint.ts'
import { writeEventStream } from './server-sent-events.ts'
import { UnderWay } from './under-way.ts'
import { WebSockets } from './web-socket.ts'

/** The API and who may use it how. */
export interface ApiOptions<Context> {
  readonly schema: GraphQLSchema
  readonly context: (incoming: Incoming) => Context | Promise<Context>
  /** Called when a mutation has been answered: there may be jobs to run. */
  readonly afterMutation?: () => void
  readonly authenticate: Authenticate
  /** Routes beside GraphQL. */
  readonly rest?: readonly RestRoute[]
  readonly allowedOrigins: readonly string[]
  readonly introspection: boolean
  readonly graphiql: boolean
  readonly requireOperationName: boolean
  readonly limits: ServerLimits
}

export const GRAPHQL_PATH = '/graphql'

// A WebSocket's answer to a close; a client that gives none is gone or broken.
const LONGEST_GOODBYE_MS = 2_000

/** Everything at `/graphql`: what is refused before GraphQL begins, and then one of the three transports. */
export class GraphqlEndpoint<Context> {
  readonly connections: OpenConnections
  readonly #options: ApiOptions<Context> & { readonly metrics: Metrics; readonly log: Logger }
  readonly #operations: Operations<Context>
  readonly #origins: Origins
  readonly #queries: HandleGraphql
  readonly #sockets: WebSockets<Context>
  readonly #underWay = new UnderWay()
  #draining = false

  constructor(options: ApiOptions<Context> & { readonly metrics: Metrics; readonly log: Logger }) {
    const { metrics, limits } = options
    this.#options = options
    this.#origins = new Origins(options.allowedOrigins)
    this.connections = new OpenConnections(metrics, {
      perSubject: limits.connectionsPerSubject,
      inAll: limits.connections,
    })
    this.#operations = new Operations({ ...options, deadlineMs: limits.operationMs })
    const shared = { ...options, operations: this.#operations, path: GRAPHQL_PATH }
    this.#queries = makeGraphqlHttp(shared)
    this.#sockets = new WebSockets({
      ...shared,
      connections: this.connections,
      origins: this.#origins,
      maxPayloadBytes: limits.messageBytes,
      initWaitMs: limits.connectionInitMs,
      keepAliveMs: limits.keepAliveMs,
      subscriptionsPerConnection: limits.subscriptionsPerConnection,
      messagesPerTenSeconds: limits.messagesPerTenSeconds,
    })
  }

  /** Takes over the WebSocket upgrades of `server`. */
  attach(server: Server): void {
    this.#sockets.attach(server)
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const correlationId = correlationIdOf(request)
    const masking = { correlationId, log: this.#options.log.child({ correlationId }) }
    response.setHeader('x-request-id', correlationId)
    this.#underWay.begin(response)
    try {
      await this.#answer(request, response, masking)
    } catch (error) {
      this.#refuse(response, error, masking)
    }
  }

  /**
   * Refuses what is new, ends what is open so that its clients go on elsewhere after their last cursor, and waits
   * for what is under way, at most `graceMs`.
   */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true
    this.connections.endAll()
    await Promise.all([this.#underWay.over(graceMs), this.#sockets.close(Math.min(graceMs, LONGEST_GOODBYE_MS))])
  }

  async #answer(request: IncomingMessage, response: ServerResponse, masking: Masking): Promise<void> {
    this.#origins.writeHeaders(request, response)
    if (request.method === 'OPTIONS') return void response.writeHead(204).end()
    if (this.#draining) throw apiError('SERVICE_UNAVAILABLE', 'The server is restarting. Try again in a moment.')
    const { limits } = this.#options
    const body =
      request.method === 'POST' ? await readJsonBody(request, { bytes: limits.bodyBytes, ms: limits.bodyMs }) : null
    const caller = await this.#options.authenticate(request.headers.authorization, masking.correlationId)
    // Without introspection a stranger has nothing to ask, and validation would tell the schema name by name.
    if (caller === NOBODY && !this.#options.introspection && !this.#asksForGraphiql(request))
      throw apiError('UNAUTHENTICATED', 'This needs a token: send "Authorization: Bearer <token>".')
    if (response.destroyed) return
    const subscription = body !== null && wantsEventStream(request) ? subscriptionIn(body) : null
    if (subscription !== null && !this.#operations.isNoSubscription(subscription))
      return this.#stream(subscription, response, caller, masking)
    const abort = new AbortController()
    response.once('close', () => {
      if (!response.writableFinished) abort.abort()
    })
    const incoming = { ...caller, ...masking, signal: abort.signal }
    await this.#queries(request, response, { incoming, abort: (reason) => abort.abort(reason), body })
  }

  #asksForGraphiql(request: IncomingMessage): boolean {
    return this.#options.graphiql && request.method === 'GET' && /\btext\/html\b/.test(request.headers.accept ?? '')
  }

  #stream(request: OperationRequest, response: ServerResponse, caller: Caller, masking: Masking): Promise<void> {
    if (!this.connections.admits(caller))
      throw apiError('RATE_LIMITED', 'Too many streams are open. Close some, or try again later.')
    const open = this.#operations.subscribe(request, (signal) => ({ ...caller, ...masking, signal }))
    const { limits, metrics } = this.#options
    return writeEventStream(response, open, caller, masking, {
      connections: this.connections,
      metrics,
      keepAliveMs: limits.keepAliveMs,
      stalledMs: limits.stalledMs,
    })
  }

  /** Answers what was refused before GraphQL began, in GraphQL's shape. */
  #refuse(response: ServerResponse, error: unknown, masking: Masking): void {
    const shown = masked(error instanceof BodyRefused ? apiError('BAD_USER_INPUT', error.message) : error, masking)
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
}

const wantsEventStream = (request: IncomingMessage): boolean =>
  /\btext\/event-stream\b/i.test(request.headers.accept ?? '')

/** The operation of a body when it may be a subscription; null leaves the body, and what is wrong with it, to Yoga. */
function subscriptionIn(body: string): OperationRequest | null {
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
