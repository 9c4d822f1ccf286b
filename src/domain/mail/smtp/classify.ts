import { Failure } from '../../../errors/index.ts'

/** What the library hangs on an error; see its `NodemailerError`. */
interface SmtpError {
  readonly code?: string
  /** What Node called it, before the library gave it a code of its own. */
  readonly originalCode?: string
  /** Three digits, when the server answered. */
  readonly responseCode?: number
  readonly response?: string
  /** The command that was refused: `RCPT TO`. */
  readonly command?: string
}

// Ours to correct, not the recipient's: a wrong password, or none where one is wanted.
const LOGIN_REFUSED = new Set([530, 534, 535, 538])

// Answers to what comes before a mail's own recipient. 552 and 555 to MAIL FROM are about this mail: its size, or what
// its address needs.
const BEFORE_THE_MAIL = /^(CONN|EHLO|HELO|LHLO|AUTH|MAIL)\b/
const ABOUT_THE_MAIL = new Set([552, 555])

// A handshake that failed, whatever of it: the library calls most of them a broken socket.
const TLS = /CERT|SIGNATURE|^ERR_(TLS|SSL)_|^EPROTO$/

const RATE = /too many|too fast|\brate\b|throttl|slow down|\blimit/i

/**
 * What the job's policy has to know of a failed dispatch.
 *
 * - 4yz is tried again (RFC 5321, 4.2.1), THROTTLED when it says that we send too much;
 * - 5yz is final to the recipient and to the text, but for 503, which says that the session was out of step. Before
 *   that (greeting, login, sender) it concerns every mail and none in particular: final it would fail all of them
 *   within minutes over one mistyped password or a blocked address. Tried again it costs an attempt each, until the
 *   breaker opens after five; from then on one probe per pause finds out when it is put right, and the server is not
 *   hammered into locking the account;
 * - without an answer, or one without a code (no connection, cut off, no TLS) it is tried again, TIMEOUT when it was silence.
 *
 * The message holds the server's codes only. Its sentences quote addresses and more, so neither they nor the
 * library's error go any further.
 */
export function classified(thrown: unknown): Failure {
  const error = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as SmtpError
  const { code, responseCode } = error
  if (code === 'ETLS' || code === 'EREQUIRETLS' || TLS.test(error.originalCode ?? ''))
    return new Failure(
      'TRANSIENT',
      'mail.tls_failed',
      'The mail server offers no TLS, or a certificate that is not trusted. Correct the server, or NODE_EXTRA_CA_CERTS.',
    )
  if (responseCode !== undefined && responseCode >= 400) return answered(error, responseCode)
  const unavailable = () =>
    new Failure('TRANSIENT', 'mail.unavailable', 'The mail server could not be reached, or broke off.')
  switch (code) {
    case 'ETIMEDOUT':
      return new Failure('TIMEOUT', 'mail.timeout', 'The mail server did not answer in time.')
    case 'EAUTH':
    case 'ENOAUTH':
      return loginRefused('')
    // Without an answer these are the library's own: an address that cannot be written, a message over the server's limit.
    case 'EENVELOPE':
    case 'EMESSAGE':
      // Whether it took the mail nobody knows when what it said is no answer at all.
      if (error.response !== undefined) return unavailable()
      return new Failure('PERMANENT', 'mail.rejected', 'The mail cannot be handed to this mail server as it is.')
    default:
      return unavailable()
  }
}

function answered(error: SmtpError, responseCode: number): Failure {
  const reply = repliedWith(error.response) ?? String(responseCode)
  const to = error.command === undefined ? '' : ` to ${command(error.command)}`
  const final = responseCode >= 500 && responseCode !== 503
  if (LOGIN_REFUSED.has(responseCode) || (final && /^AUTH\b/.test(error.command ?? '')))
    return loginRefused(` It answered ${reply}.`)
  if (responseCode === 452 || (responseCode < 500 && RATE.test(error.response ?? '')))
    return new Failure('THROTTLED', 'mail.throttled', `The mail server answered ${reply}${to}: it wants less mail now.`)
  if (final && BEFORE_THE_MAIL.test(error.command ?? '') && !ABOUT_THE_MAIL.has(responseCode))
    return new Failure(
      'TRANSIENT',
      'mail.sender_refused',
      `The mail server answered ${reply}${to}: it takes no mail from us. Check MAIL_FROM, and what it knows of this machine.`,
    )
  if (!final) return new Failure('TRANSIENT', 'mail.unavailable', `The mail server answered ${reply}${to}: not now.`)
  return new Failure('PERMANENT', 'mail.rejected', `The mail server answered ${reply}${to}: refused for good.`)
}

const loginRefused = (more: string): Failure =>
  new Failure(
    'TRANSIENT',
    'mail.login_refused',
    `The mail server does not accept our login.${more} Check the user and the password in SMTP_URL.`,
  )

// A command's name and never its argument, which may be an address.
const command = (text: string): string => /^[A-Z]+( (FROM|TO|[A-Z0-9-]+))?/.exec(text)?.[0] ?? 'a command'

/** The codes of an answer, without its text: `550 5.1.1`. Null when it begins with none. */
export function repliedWith(response: string | undefined): string | null {
  const found = /^(\d{3})(?:[ -](\d\.\d{1,3}\.\d{1,3}))?(?=\s|$)/.exec(response ?? '')
  if (found === null) return null
  return found[2] === undefined ? found[1]! : `${found[1]} ${found[2]}`
}
