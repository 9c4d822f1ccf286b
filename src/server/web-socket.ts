import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { parse, type ExecutionArgs, type GraphQLError, type GraphQLSchema } from 'graphql'
import { handleProtocols, makeServer, type Context as ProtocolContext } from 'graphql-ws'
import { WebSocketServer, type WebSocket } from 'ws'
import { apiError } from '../schema/errors/index.ts'
import { NOBODY, type Authenticate, type Caller } from './callers.ts'
import { correlationIdOf } from './correlation.ts'
import type { Logger } from './log.ts'
import { masked, type Masking } from './masking.ts'
import type { Metrics } from './metrics.ts'
import type { EndReason, OpenConnections } from './open-connections.ts'
import type { Answers, OperationRequest, Operations } from './operations.ts'
import type { Origins } from './origins.ts'

export interface WebSocketOptions<Context> {
  readonly operations: Operations<Context>
  readonly authenticate: Authenticate
  readonly connections: OpenConnections
  readonly origins: Origins
  readonly metrics: Metrics
  readonly log: Logger
  readonly path: string
  readonly maxPayloadBytes: number
  readonly initWaitMs: number
  readonly keepAliveMs: number
  readonly subscriptionsPerConnection: number
  /** Messages that one connection may send in ten seconds. */
  readonly messagesPerTenSeconds: number
}

/** Close codes beside the protocol's own; stock clients connect again after the first three. */
const CLOSE = {
  RESTARTING: 1012,
  TRY_AGAIN_LATER: 1013,
  FORBIDDEN: 4403,
  POLICY: 1008,
  INTERNAL: 1011,
} as const

interface Extra {
  readonly socket: WebSocket
  readonly request: IncomingMessage
  readonly masking: Masking
  authorization: string | undefined
  caller: Caller
  closed: () => void
}

type Connection = ProtocolContext<Record<string, unknown>, Extra>

/**
 * GraphQL over WebSocket (protocol graphql-transport-ws), subscriptions only: so limits, idempotency and CSRF have
 * one place each for everything else. The token comes in `connection_init`, and the socket ends with it.
 */
export class WebSockets<Context> {
  readonly #options: WebSocketOptions<Context>
  readonly #sockets: WebSocketServer
  readonly #protocol
  #closing = false

  constructor(options: WebSocketOptions<Context>) {
    this.#options = options
    this.#sockets = new WebSocketServer({
      noServer: true,
      maxPayload: options.maxPayloadBytes,
      perMessageDeflate: false,
      handleProtocols: (offered) => handleProtocols(offered),
    })
    this.#protocol = makeServer<Record<string, unknown>, Extra>({
      connectionInitWaitTimeout: options.initWaitMs,
      onConnect: (connection) => this.#connected(connection),
      onSubscribe: (connection, _id, payload) => this.#subscribing(connection, payload),
      subscribe: (args) => answersOf(args),
      onNext: () => {
        options.metrics.delivered.inc({ transport: 'websocket' })
      },
      onError: (connection, _id, _payload, errors) =>
        errors.map((error) => masked(error, connection.extra.masking).toJSON()),
    })
  }

  /** Takes over the upgrade requests of `server`. */
  attach(server: Server): void {
    server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head))
  }

  /** Takes no more sockets, waits for those there are to say good-bye, at most `graceMs`, then drops them. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true
    for (const socket of this.#sockets.clients) socket.close(CLOSE.RESTARTING, RESTARTING)
    const dropping = setTimeout(() => {
      for (const socket of this.#sockets.clients) socket.terminate()
    }, graceMs)
    await Promise.all([...this.#sockets.clients].map((socket) => new Promise((left) => socket.once('close', left))))
    clearTimeout(dropping)
    this.#sockets.close()
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    if (this.#closing) return this.#refuse(socket, '503 Service Unavailable')
    const path = request.url?.split('?', 1)[0]
    if (path !== this.#options.path) return this.#refuse(socket, '404 Not Found')
    // CORS does not cover WebSockets: without this any web page could open one.
    if (!this.#options.origins.allows(request)) return this.#refuse(socket, '403 Forbidden')
    this.#sockets.handleUpgrade(request, socket, head, (client) => this.#opened(client, request))
  }

  #refuse(socket: Duplex, status: string): void {
    this.#options.metrics.refusals.inc({ status: status.slice(0, 3) })
    socket.on('error', () => {})
    socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
  }

  #opened(socket: WebSocket, request: IncomingMessage): void {
    const correlationId = correlationIdOf(request)
    const log = this.#options.log.child({ correlationId })
    const extra: Extra = {
      socket,
      request,
      masking: { correlationId, log },
      authorization: undefined,
      caller: NOBODY,
      closed: () => {},
    }
    const stopPinging = this.#keepAlive(socket)
    const mayGoOn = this.#messageRate()
    const closed = this.#protocol.opened(
      {
        protocol: socket.protocol,
        // Resolves when the operating system has taken the message, which is what holds a fast source back.
        send: (data) =>
          new Promise((sent) => {
            if (socket.readyState !== socket.OPEN) return sent()
            socket.send(data, () => sent())
          }),
        close: (code, reason) => socket.close(code, reason),
        onMessage: (take) => {
          socket.on('message', (data, isBinary) => {
            if (isBinary) return socket.close(4400, 'Text messages only')
            if (!mayGoOn()) return socket.close(CLOSE.POLICY, 'Too many messages')
            take((data as Buffer).toString('utf8')).catch((error: unknown) => {
              log.error({ err: error }, 'unexpected error on a socket')
              socket.close(CLOSE.INTERNAL, 'Internal error')
            })
          })
        },
      },
      extra,
    )
    // A socket that breaks (a message too large, a malformed frame) closes by itself.
    socket.on('error', () => {})
    socket.once('close', (code, reason) => {
      stopPinging()
      extra.closed()
      void closed(code, String(reason))
    })
  }

  async #connected(connection: Connection): Promise<boolean> {
    const { extra } = connection
    extra.authorization = authorizationOf(connection.connectionParams)
    if (!(await this.#identify(extra, extra.masking.correlationId))) return false
    // Gone while its token was looked at: its 'close' has been, and would not take it off the list.
    if (extra.socket.readyState !== extra.socket.OPEN) return false
    if (!this.#options.connections.admits(extra.caller)) {
      this.#close(extra, CLOSE.TRY_AGAIN_LATER, 'Too many connections')
      return false
    }
    const { socket, caller } = extra
    extra.closed = this.#options.connections.add({
      caller,
      transport: 'websocket',
      end: (reason) => bye(socket, reason),
    })
    return true
  }

  /** Fills in the caller; else closes the socket and says why. */
  async #identify(extra: Extra, correlationId: string): Promise<boolean> {
    try {
      extra.caller = await this.#options.authenticate(extra.authorization, correlationId)
    } catch (error) {
      const { message, extensions } = masked(error, extra.masking)
      this.#close(extra, extensions['code'] === 'UNAUTHENTICATED' ? CLOSE.FORBIDDEN : CLOSE.TRY_AGAIN_LATER, message)
      return false
    }
    if (extra.caller !== NOBODY) return true
    this.#close(extra, CLOSE.FORBIDDEN, 'connection_init needs {"authorization": "Bearer <token>"}')
    return false
  }

  async #subscribing(
    connection: Connection,
    payload: OperationRequest,
  ): Promise<ExecutionArgs | readonly GraphQLError[]> {
    const { extra } = connection
    if (Object.keys(connection.subscriptions).length > this.#options.subscriptionsPerConnection) {
      const most = this.#options.subscriptionsPerConnection
      return [apiError('RATE_LIMITED', `One connection may hold ${most} subscriptions. Open another one.`)]
    }
    const correlationId = correlationIdOf(null)
    // Read again for every subscription: a role taken away or a revocation since the connection was made counts.
    if (!(await this.#identify(extra, correlationId))) return [endedError()]
    const log = this.#options.log.child({ correlationId, connection: extra.masking.correlationId })
    const opened = await this.#options.operations.subscribe(payload, (signal) => ({
      ...extra.caller,
      correlationId,
      signal,
      log,
    }))
    if ('errors' in opened) return opened.errors
    return executionOf(opened, this.#options.operations.schema)
  }

  #close(extra: Extra, code: number, reason: string): void {
    this.#options.metrics.refusals.inc({ status: String(code) })
    extra.socket.close(code, shortened(reason))
  }

  /** Pings, and drops a peer that does not answer before the next one. */
  #keepAlive(socket: WebSocket): () => void {
    let alive = true
    socket.on('pong', () => {
      alive = true
    })
    const timer = setInterval(() => {
      if (!alive) return socket.terminate()
      alive = false
      if (socket.readyState === socket.OPEN) socket.ping()
    }, this.#options.keepAliveMs)
    return () => clearInterval(timer)
  }

  #messageRate(): () => boolean {
    let since = performance.now()
    let count = 0
    return () => {
      const now = performance.now()
      if (now - since > 10_000) {
        since = now
        count = 0
      }
      count += 1
      return count <= this.#options.messagesPerTenSeconds
    }
  }
}

const RESTARTING = 'The server is restarting. Go on after your last cursor.'

function bye(socket: WebSocket, reason: EndReason): void {
  switch (reason) {
    case 'TOKEN_EXPIRED':
      return socket.close(CLOSE.FORBIDDEN, 'The token has expired')
    case 'REVOKED':
      return socket.close(CLOSE.FORBIDDEN, 'This membership was revoked')
    case 'STOPPING':
      return socket.close(CLOSE.RESTARTING, RESTARTING)
    case 'STALLED':
      return socket.terminate()
  }
}

const endedError = (): GraphQLError => apiError('UNAUTHENTICATED', 'The token does not count any more.')

/** Also nested under `headers`, which is where GraphiQL puts it. */
function authorizationOf(params: Readonly<Record<string, unknown>> | undefined): string | undefined {
  for (const holder of [params, params?.['headers']]) {
    if (typeof holder !== 'object' || holder === null) continue
    for (const [key, value] of Object.entries(holder)) {
      if (key.toLowerCase() === 'authorization' && typeof value === 'string') return value
    }
  }
  return undefined
}

// The reason of a close frame holds 123 bytes.
const shortened = (reason: string): string =>
  Buffer.byteLength(reason) <= 123 ? reason : reason.replace(/[^\x20-\x7e]/g, '?').slice(0, 123)

// graphql-ws wants arguments to execute; the stream that is already open travels in them.
const executionOf = (opened: Answers, schema: GraphQLSchema): ExecutionArgs => ({
  schema,
  document: ANY_SUBSCRIPTION,
  rootValue: opened,
})

const answersOf = (args: ExecutionArgs): Answers => args.rootValue as Answers

const ANY_SUBSCRIPTION = parse('subscription { opened }')
