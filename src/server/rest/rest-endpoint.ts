import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { apiError } from '../../schema/errors/index.ts'
import type { Viewer } from '../../viewer/index.ts'
import type { Authenticate } from '../callers.ts'
import { correlationIdOf } from '../correlation.ts'
import type { Logger } from '../log.ts'
import type { Masking } from '../masking.ts'
import type { Metrics } from '../metrics.ts'
import type { Origins } from '../origins.ts'
import { BodyRefused, readJsonBody } from '../request-body.ts'
import { UnderWay } from '../under-way.ts'
import { problemOf, RequestRefused } from './problem.ts'

export interface RestRequest {
  readonly viewer: Viewer
  readonly headers: IncomingHttpHeaders
  /** Parsed JSON of any shape. */
  readonly body: unknown
}

/** One route: what it answers, or a `UserError` that says why not. */
export interface RestRoute {
  readonly path: string
  readonly method: 'POST'
  answer(request: RestRequest): Promise<{ readonly status: number; readonly body: unknown }>
}

export interface RestOptions {
  readonly routes: readonly RestRoute[]
  readonly authenticate: Authenticate
  readonly origins: Origins
  readonly limits: { readonly bodyBytes: number; readonly bodyMs: number }
  /** Called when something may have been written: there may be jobs to run. */
  readonly afterWrite: () => void
  readonly draining: () => boolean
  readonly metrics: Metrics
  readonly log: Logger
}

/** The few routes beside GraphQL, for callers that speak JSON over HTTP: authentication, bodies, problems. */
export class RestEndpoint {
  readonly #options: RestOptions
  readonly #routes: ReadonlyMap<string, RestRoute>
  readonly #underWay = new UnderWay()

  constructor(options: RestOptions) {
    this.#options = options
    this.#routes = new Map(options.routes.map((route) => [route.path, route]))
  }

  /** The route of a request's path; null when it is none of ours. */
  routeOf(request: IncomingMessage): RestRoute | null {
    return this.#routes.get(request.url?.split('?', 1)[0] ?? '') ?? null
  }

  async answer(route: RestRoute, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const correlationId = correlationIdOf(request)
    const masking = { correlationId, log: this.#options.log.child({ correlationId }) }
    response.setHeader('x-request-id', correlationId)
    this.#underWay.begin(response)
    try {
      await this.#answer(route, request, response, masking)
    } catch (error) {
      this.#refuse(response, error, masking)
    }
  }

  /** Waits for what is under way, at most `graceMs`. */
  drain(graceMs: number): Promise<void> {
    return this.#underWay.over(graceMs)
  }

  async #answer(route: RestRoute, request: IncomingMessage, response: ServerResponse, { correlationId }: Masking) {
    const { origins, limits, authenticate, afterWrite, draining } = this.#options
    origins.writeHeaders(request, response)
    if (request.method === 'OPTIONS') return void response.writeHead(204).end()
    if (draining()) throw apiError('SERVICE_UNAVAILABLE', 'The server is restarting. Try again in a moment.')
    if (request.method !== route.method) {
      response.setHeader('allow', `${route.method}, OPTIONS`)
      throw new RequestRefused(405, 'BAD_USER_INPUT', `Use ${route.method} here.`)
    }
    const text = await readJsonBody(request, { bytes: limits.bodyBytes, ms: limits.bodyMs })
    const { viewer } = await authenticate(request.headers.authorization, correlationId)
    if (viewer === null)
      throw apiError('UNAUTHENTICATED', 'This needs the token of a tenant: send "Authorization: Bearer <token>".')
    const answer = await route.answer({ viewer, headers: request.headers, body: parsed(text) })
    afterWrite()
    write(response, answer.status, 'application/json', answer.body)
  }

  #refuse(response: ServerResponse, error: unknown, masking: Masking): void {
    const shown = problemOf(error, masking)
    this.#options.metrics.refusals.inc({ status: String(shown.status) })
    if (response.headersSent) return void response.destroy()
    if (shown.status === 401) response.setHeader('www-authenticate', 'Bearer')
    if (shown.status === 429 || shown.status === 503) response.setHeader('retry-after', '1')
    // The rest of a body that was not read would be taken for the next request.
    if (error instanceof BodyRefused || error instanceof RequestRefused || this.#options.draining())
      response.setHeader('connection', 'close')
    write(response, shown.status, 'application/problem+json', shown)
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new RequestRefused(400, 'BAD_USER_INPUT', 'The body is not JSON.')
  }
}

function write(response: ServerResponse, status: number, type: string, body: unknown): void {
  response.writeHead(status, { 'content-type': `${type}; charset=utf-8` }).end(JSON.stringify(body))
}
