import { z } from 'zod'
import { type Sender, senderOf } from '../domain/mail/addresses/index.ts'
import type { SmtpServer } from '../domain/mail/index.ts'
import { isLoopback } from './loopback.ts'

/** Where mail goes out and whom it is from. */
export interface MailSettings {
  readonly server: SmtpServer
  readonly sender: Sender
}

const STANDARD_PORT = { 'smtp:': 587, 'smtps:': 465 }

/**
 * `smtp://user:password@host:port`, or `smtps:` for TLS from the first byte. Host and port and login only: what else
 * a library would read out of such an address (certificates not checked, every line logged) is nobody's to set here.
 */
export const SMTP_URL = z.string().transform((text, context) => {
  const server = serverOf(text)
  if (server !== null) return server
  context.addIssue('must be an address such as smtp://user:password@host:587, without anything after the port')
  return z.NEVER
})

function serverOf(text: string): SmtpServer | null {
  try {
    const { protocol, hostname, port, username, password, pathname, search, hash } = new URL(text)
    if (protocol !== 'smtp:' && protocol !== 'smtps:') return null
    if (hostname === '' || (pathname !== '' && pathname !== '/') || search !== '' || hash !== '') return null
    const host = decodeURIComponent(hostname).replace(/^\[|\]$/g, '')
    const login =
      username === '' ? null : { user: decodeURIComponent(username), password: decodeURIComponent(password) }
    const secure = protocol === 'smtps:'
    return {
      host,
      port: port === '' ? STANDARD_PORT[protocol] : Number(port),
      secure,
      login,
      // A password never crosses a network in the clear, also when the server forgets to offer TLS.
      requireTls: login !== null && !secure && !isLoopback(host),
    }
  } catch {
    // No URL, or a "%" that escapes nothing.
    return null
  }
}

export const MAIL_FROM = z.string({ error: 'must be set together with SMTP_URL' }).transform((text, context) => {
  const sender = senderOf(text)
  if (sender !== null) return sender
  context.addIssue('must be one mail address, or a name with an address in < and >')
  return z.NEVER
})
