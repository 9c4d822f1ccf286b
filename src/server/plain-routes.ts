import type { IncomingMessage, ServerResponse } from 'node:http'
import { readinessOf, type ReadinessCheck } from './health.ts'
import type { Metrics } from './metrics.ts'

export interface PlainRoutesOptions {
  readonly readiness: readonly ReadinessCheck[]
  readonly metrics: Metrics
  /** False when `/metrics` has a port of its own. */
  readonly metricsHere: boolean
  readonly draining: () => boolean
}

/** Whatever is not GraphQL: `/health/live`, `/health/ready`, `/metrics`. */
export class PlainRoutes {
  readonly #options: PlainRoutesOptions

  constructor(options: PlainRoutesOptions) {
    this.#options = options
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.split('?', 1)[0]
    if (path === '/health/live') return writeJson(response, 200, { live: true })
    if (path === '/health/ready') return this.#writeReadiness(response)
    if (path === '/metrics' && this.#options.metricsHere && fromThisMachine(request)) return this.writeMetrics(response)
    writeJson(response, 404, { message: 'Not found. GraphQL is at /graphql.' })
  }

  async writeMetrics(response: ServerResponse): Promise<void> {
    const { registry } = this.#options.metrics
    const text = await registry.metrics()
    response.writeHead(200, { 'content-type': registry.contentType }).end(text)
  }

  async #writeReadiness(response: ServerResponse): Promise<void> {
    const { ready, checks } = await readinessOf(this.#options.readiness)
    const draining = this.#options.draining()
    const isReady = ready && !draining
    writeJson(response, isReady ? 200 : 503, {
      ready: isReady,
      checks: { serving: draining ? 'stopping' : 'ok', ...checks },
    })
  }
}

export function writeJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
}

// Behind a proxy on the same machine every request looks local; the proxy says for whom it asks.
function fromThisMachine(request: IncomingMessage): boolean {
  if (request.headers['x-forwarded-for'] !== undefined || request.headers['forwarded'] !== undefined) return false
  return /^(::1|(::ffff:)?127\.)/.test(request.socket.remoteAddress ?? '')
}
