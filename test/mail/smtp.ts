import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { SMTPServer, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server'
import { afterEach } from 'vitest'
import type { SmtpServer } from '../../src/domain/mail/index.ts'
import { projectFolder } from '../../src/database/index.ts'

const fixture = (name: string) => readFileSync(join(projectFolder(), 'test/mail/fixtures', name), 'utf8')

/** Of the servers below; valid for a hundred years, for localhost and 127.0.0.1 only. */
export const CERTIFICATE = fixture('localhost.crt')
const KEY = fixture('localhost.key')

/** A message that a server was given, whatever it answered. */
export interface Received {
  readonly from: string
  readonly to: readonly string[]
  readonly raw: string
  readonly secure: boolean
  readonly user: string | undefined
}

/** An answer of the server in the middle of the conversation. */
export const refusal = (responseCode: number, text: string): Error => Object.assign(new Error(text), { responseCode })

/** A real SMTP server whose answers the test decides. */
export class MailServer {
  readonly received: Received[] = []
  readonly #server: SMTPServer
  readonly #sockets = new Set<Socket>()
  connections = 0
  /** Called with each message when it has all been read; an error is the answer, nothing is "250". */
  onMessage: (message: Received) => Promise<Error | null> | Error | null = () => null
  onRecipient: (address: string) => Error | null = () => null

  constructor(options: SMTPServerOptions) {
    this.#server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      key: KEY,
      cert: CERTIFICATE,
      logger: false,
      disableReverseLookup: true,
      onRcptTo: ({ address }, _session, answer) => answer(this.onRecipient(address)),
      onData: (stream, session, answer) => {
        const chunks: Buffer[] = []
        stream.on('data', (chunk: Buffer) => chunks.push(chunk))
        stream.on(
          'end',
          () =>
            void this.#take(Buffer.concat(chunks).toString('utf8'), session).then((refused) =>
              refused === null ? answer(null, '2.0.0 taken over') : answer(refused),
            ),
        )
      },
      ...options,
    })
    // Connections that a test cuts off.
    this.#server.on('error', () => {})
    this.#server.server.on('connection', (socket: Socket) => {
      this.connections++
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
  }

  async #take(raw: string, { envelope, secure, user }: SMTPServerSession): Promise<Error | null> {
    const { mailFrom, rcptTo } = envelope
    const message: Received = {
      from: mailFrom === false ? '' : mailFrom.address,
      to: rcptTo.map(({ address }) => address),
      raw,
      secure,
      user: user as string | undefined,
    }
    this.received.push(message)
    return this.onMessage(message)
  }

  listen(port = 0): Promise<void> {
    return new Promise((resolve) => this.#server.listen(port, '127.0.0.1', resolve))
  }

  get port(): number {
    return (this.#server.server.address() as AddressInfo).port
  }

  /** Ends every connection where it stands. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  get open(): number {
    return this.#sockets.size
  }

  stop(): Promise<void> {
    this.cut()
    return new Promise((resolve) => this.#server.close(() => resolve()))
  }
}

/** Where to find a server of this machine. */
export const at = (port: number, own: Partial<SmtpServer> = {}): SmtpServer => ({
  host: '127.0.0.1',
  port,
  secure: false,
  login: null,
  requireTls: false,
  ...own,
})

/** Servers of a test file; those that a test leaves running are stopped after it. */
export function useServers() {
  const running: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const stop of running.splice(0)) await stop()
  })
  return {
    async mail(options: SMTPServerOptions = {}): Promise<MailServer> {
      const server = new MailServer(options)
      await server.listen()
      running.push(() => server.stop())
      return server
    },
    /** Anything that listens; `talk` has each connection. */
    async raw(talk: (socket: Socket) => void): Promise<{ port: number; server: Server }> {
      const sockets = new Set<Socket>()
      const server = createServer((socket) => {
        sockets.add(socket)
        socket.on('error', () => {})
        talk(socket)
      })
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      running.push(() => {
        for (const socket of sockets) socket.destroy()
        return new Promise((resolve) => server.close(resolve))
      })
      return { port: (server.address() as AddressInfo).port, server }
    },
    /** A port that nobody listens on. */
    async nobody(): Promise<number> {
      const server = createServer()
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
      const { port } = server.address() as AddressInfo
      await new Promise((resolve) => server.close(resolve))
      return port
    },
  }
}
