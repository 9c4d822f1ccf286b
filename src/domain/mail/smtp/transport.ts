import { createTransport } from 'nodemailer'
import { Failure } from '../../../errors/index.ts'
import type { Message } from '../message.ts'
import type { MailTransport } from '../transport.ts'
import { classified, repliedWith } from './classify.ts'

/** Where the mail server is and who we are to it. */
export interface SmtpServer {
  readonly host: string
  readonly port: number
  /** TLS from the first byte (`smtps:`). Otherwise STARTTLS, when the server offers it. */
  readonly secure: boolean
  /** Null: the server lets us in without. */
  readonly login: { readonly user: string; readonly password: string } | null
  /**
   * Refuse to speak without TLS. Needed wherever a password would cross a network that others can read.
   */
  readonly requireTls: boolean
}

export interface SmtpWaits {
  readonly connectMs: number
  readonly greetingMs: number
  /** Longest silence of the server afterwards. */
  readonly silenceMs: number
}

/** Together below the time-out of an attempt, so that it is the transport that says what was slow. */
const WAITS: SmtpWaits = { connectMs: 15_000, greetingMs: 15_000, silenceMs: 60_000 }

/** Most connections of one worker thread; mail servers count them per client, and twenty is a usual limit. */
const CONNECTIONS = 5
/** A thread with nothing to send holds no connection. */
const IDLE_MS = 30_000

/**
 * Sends over SMTP with a small pool of connections, opened when first needed. `tls` is for the tests' own
 * certificate; elsewhere Node's certificate authorities count (`NODE_EXTRA_CA_CERTS` adds to them).
 */
export function smtpTransport(
  server: SmtpServer,
  options: { readonly waits?: Partial<SmtpWaits>; readonly tls?: { readonly ca: string } } = {},
): MailTransport {
  const waits = { ...WAITS, ...options.waits }
  const pool = createTransport({
    pool: true,
    host: server.host,
    port: server.port,
    secure: server.secure,
    requireTLS: server.requireTls,
    ...(server.login === null ? {} : { auth: { user: server.login.user, pass: server.login.password } }),
    ...(options.tls === undefined ? {} : { tls: options.tls }),
    maxConnections: CONNECTIONS,
    // Once, for a connection that the server had closed while it was idle. Trying again is for the job's policy.
    maxRequeues: 1,
    idleTimeout: IDLE_MS,
    connectionTimeout: waits.connectMs,
    dnsTimeout: waits.connectMs,
    greetingTimeout: waits.greetingMs,
    socketTimeout: waits.silenceMs,
    logger: false,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return {
    async send(message, signal) {
      try {
        const { response, accepted } = await pool.sendMail({ ...written(message), signal })
        // One recipient: refused means that nothing was sent, and the library says so by an error.
        if (accepted.length !== 1) throw new Error('The mail server accepted no recipient.')
        return { reply: repliedWith(response) ?? '250' }
      } catch (error) {
        signal.throwIfAborted()
        throw error instanceof Failure ? error : classified(error)
      }
    },
    close: () => pool.close(),
  }
}

const written = ({ messageId, from, to, subject, text, html }: Message) => ({
  messageId,
  from,
  to: { name: '', address: to },
  subject,
  text,
  ...(html === undefined ? {} : { html }),
  headers: {
    // RFC 3834: no absence notice answers this, and no list server takes it for a person's.
    'Auto-Submitted': 'auto-generated',
  },
})
