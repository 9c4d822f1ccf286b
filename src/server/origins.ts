import type { IncomingMessage, ServerResponse } from 'node:http'

/** Which web pages may talk to this server: those it serves itself and those of an explicit list. */
export class Origins {
  readonly #allowed: ReadonlySet<string>

  constructor(allowed: readonly string[]) {
    this.#allowed = new Set(allowed)
  }

  /** True without an `Origin` (no browser), for the server's own pages and for the list. */
  allows(request: IncomingMessage): boolean {
    const { origin, host } = request.headers
    if (origin === undefined || this.#allowed.has(origin)) return true
    try {
      return new URL(origin).host === host
    } catch {
      return false
    }
  }

  /** Writes the CORS headers. No cookie is ever read, so none is allowed. */
  writeHeaders(request: IncomingMessage, response: ServerResponse): void {
    response.setHeader('vary', 'Origin')
    const { origin } = request.headers
    if (origin === undefined || !this.allows(request)) return
    response.setHeader('access-control-allow-origin', origin)
    response.setHeader('access-control-expose-headers', 'x-request-id, retry-after')
    if (request.method !== 'OPTIONS') return
    response.setHeader('access-control-allow-methods', 'GET, POST')
    response.setHeader(
      'access-control-allow-headers',
      'content-type, authorization, x-request-id, x-tenant-id, idempotency-key',
    )
    response.setHeader('access-control-max-age', '600')
  }
}
