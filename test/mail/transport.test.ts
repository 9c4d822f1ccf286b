import { createInterface } from 'node:readline'
import { afterEach, describe, expect, test } from 'vitest'
import { Failure } from '../../src/errors/index.ts'
import { type MailTransport, type Message, type SmtpServer, smtpTransport } from '../../src/domain/mail/index.ts'
import type { SMTPServerOptions } from 'smtp-server'
import { at, CERTIFICATE, refusal, useServers } from './smtp.ts'

const servers = useServers()
const transports: MailTransport[] = []
afterEach(() => {
  for (const transport of transports.splice(0)) transport.close()
})

function transportTo(server: SmtpServer, options: Parameters<typeof smtpTransport>[1] = {}): MailTransport {
  const transport = smtpTransport(server, options)
  transports.push(transport)
  return transport
}

const MESSAGE: Message = {
  messageId: '<0193a000-0000-7000-8000-000000000001@regie.example>',
  from: { name: 'Regie', address: 'regie@regie.example' },
  to: 'anna@acme.example',
  subject: 'Hello',
  text: 'A line.\n.\nThe dot above is part of the text.',
}
const never = new AbortController().signal

/** How a dispatch failed; a test fails when it did not. */
async function failureOf(sending: Promise<unknown>): Promise<Failure> {
  const error = await sending.then(
    () => new Error('It was sent.'),
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof Failure)) throw error
  return error
}

test('a message arrives as it was written, with its id, and says that no person wrote it', async () => {
  const server = await servers.mail()
  const { reply } = await transportTo(at(server.port)).send({ ...MESSAGE, html: '<p>A line.</p>' }, never)
  expect(reply).toBe('250 2.0.0')
  const [mail] = server.received
  expect(mail).toMatchObject({ from: 'regie@regie.example', to: ['anna@acme.example'], secure: false })
  expect(mail!.raw).toMatch(/^From: Regie <regie@regie\.example>\r$/m)
  expect(mail!.raw).toMatch(/^To: anna@acme\.example\r$/m)
  expect(mail!.raw).toMatch(/^Subject: Hello\r$/m)
  expect(mail!.raw).toMatch(/^Message-ID: <0193a000-0000-7000-8000-000000000001@regie\.example>\r$/m)
  expect(mail!.raw).toMatch(/^Auto-Submitted: auto-generated\r$/m)
  expect(mail!.raw).toContain('A line.\r\n.\r\nThe dot above')
  expect(mail!.raw).toContain('<p>A line.</p>')
})

describe('classification of answers', () => {
  for (const [answer, failureClass, code, codes] of [
    [refusal(550, '5.1.1 <anna@acme.example>: user unknown'), 'PERMANENT', 'mail.rejected', '550 5.1.1'],
    [refusal(554, '5.7.1 Message refused as spam'), 'PERMANENT', 'mail.rejected', '554 5.7.1'],
    [refusal(552, '5.3.4 Message too big'), 'PERMANENT', 'mail.rejected', '552 5.3.4'],
    [refusal(530, '5.7.0 Authentication required'), 'TRANSIENT', 'mail.login_refused', '530 5.7.0'],
    [refusal(503, '5.5.1 Bad sequence of commands'), 'TRANSIENT', 'mail.unavailable', '503 5.5.1'],
    [refusal(450, '4.2.1 Mailbox of anna@acme.example busy'), 'TRANSIENT', 'mail.unavailable', '450 4.2.1'],
    [refusal(451, '4.3.0 Local error'), 'TRANSIENT', 'mail.unavailable', '451 4.3.0'],
    [refusal(421, '4.3.2 Shutting down'), 'TRANSIENT', 'mail.unavailable', '421 4.3.2'],
    [refusal(452, '4.3.1 Insufficient storage'), 'THROTTLED', 'mail.throttled', '452 4.3.1'],
    [refusal(421, '4.7.0 Too many messages, slow down'), 'THROTTLED', 'mail.throttled', '421 4.7.0'],
    [refusal(450, '4.7.1 Rate limit exceeded for 10.0.0.1'), 'THROTTLED', 'mail.throttled', '450 4.7.1'],
  ] as const)
    test(`J21 J28 ${codes} is ${failureClass}, at the recipient and at the message`, async () => {
      const server = await servers.mail()
      const transport = transportTo(at(server.port))
      for (const arrange of [
        () => void (server.onRecipient = () => answer),
        () => {
          server.onRecipient = () => null
          server.onMessage = () => answer
        },
      ]) {
        arrange()
        const failure = await failureOf(transport.send(MESSAGE, never))
        expect([failure.failureClass, failure.code]).toEqual([failureClass, code])
        expect(failure.message).toContain(codes)
        // J36: neither the server's sentence nor the address in it goes any further.
        expect(`${failure.message}${String(failure.cause)}${failure.stack}`).not.toMatch(/anna|spam|storage|10\.0/)
      }
    })

  /** A server whose one answer is the given one, at the command or at the greeting. */
  async function answering(command: string, answer: string): Promise<MailTransport> {
    const { port } = await servers.raw((socket) => {
      let text = false
      const say = (line: string) => void socket.write(`${line}\r\n`)
      say(command === 'GREETING' ? answer : '220 ready')
      createInterface(socket).on('line', (line) => {
        const verb = text ? 'TEXT' : (line.split(' ')[0] ?? '')
        if (text && line !== '.') return
        text = verb === 'DATA'
        if (verb === command || (command === 'EHLO' && verb === 'HELO')) say(answer)
        else say(verb === 'EHLO' ? '250-here\r\n250 AUTH PLAIN' : text ? '354 go on' : '250 2.0.0 fine')
      })
    })
    return transportTo(at(port, { login: { user: 'regie', password: 'open sesame' } }))
  }

  test.each([
    ['GREETING', '554 5.7.1 Your address is on a list', 'TRANSIENT', 'mail.sender_refused'],
    ['GREETING', '421 4.3.2 Too many connections', 'THROTTLED', 'mail.throttled'],
    ['EHLO', '550 5.7.1 Who are you', 'TRANSIENT', 'mail.sender_refused'],
    ['AUTH', '550 5.7.1 The account is closed', 'TRANSIENT', 'mail.login_refused'],
    ['MAIL', '553 5.1.8 Not your domain', 'TRANSIENT', 'mail.sender_refused'],
    ['MAIL', '552 5.3.4 Too big', 'PERMANENT', 'mail.rejected'],
    ['RCPT', '553 5.1.3 No such mailbox', 'PERMANENT', 'mail.rejected'],
    ['DATA', '554 5.5.1 No recipients', 'PERMANENT', 'mail.rejected'],
    ['TEXT', '554 5.7.1 Spam', 'PERMANENT', 'mail.rejected'],
    ['TEXT', 'I beg your pardon', 'TRANSIENT', 'mail.unavailable'],
  ])('J21 what concerns every mail fails none of them for good: %s %s', async (command, answer, failureClass, code) => {
    const failure = await failureOf((await answering(command, answer)).send(MESSAGE, never))
    expect([failure.failureClass, failure.code]).toEqual([failureClass, code])
    expect(`${failure.message}${failure.stack}`).not.toMatch(/sesame|list|pardon/)
  })

  test('J28 nobody listens', async () => {
    const failure = await failureOf(transportTo(at(await servers.nobody())).send(MESSAGE, never))
    expect([failure.failureClass, failure.code]).toEqual(['TRANSIENT', 'mail.unavailable'])
  })

  test('a host that does not exist', async () => {
    const failure = await failureOf(transportTo(at(25, { host: 'mail.invalid' })).send(MESSAGE, never))
    expect([failure.failureClass, failure.code]).toEqual(['TRANSIENT', 'mail.unavailable'])
  })

  test('a server that says nothing, and one that falls silent after the text, are time-outs', async () => {
    const mute = await servers.raw(() => {})
    const first = await failureOf(transportTo(at(mute.port), { waits: { greetingMs: 50 } }).send(MESSAGE, never))
    expect([first.failureClass, first.code]).toEqual(['TIMEOUT', 'mail.timeout'])

    const server = await servers.mail()
    server.onMessage = () => new Promise(() => {})
    const second = await failureOf(transportTo(at(server.port), { waits: { silenceMs: 500 } }).send(MESSAGE, never))
    expect([second.failureClass, second.code]).toEqual(['TIMEOUT', 'mail.timeout'])
    expect(server.received).toHaveLength(1)
  })

  test('a server that takes the text and hangs up before its answer: not known, so tried again, by us and not by the pool', async () => {
    const server = await servers.mail()
    server.onMessage = () => {
      server.cut()
      return new Promise(() => {})
    }
    const failure = await failureOf(transportTo(at(server.port)).send(MESSAGE, never))
    expect([failure.failureClass, failure.code]).toEqual(['TRANSIENT', 'mail.unavailable'])
    expect(server.received).toHaveLength(1)
  })

  test('something that speaks another protocol', async () => {
    const web = await servers.raw((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
    const failure = await failureOf(transportTo(at(web.port)).send(MESSAGE, never))
    expect([failure.failureClass, failure.code]).toEqual(['TRANSIENT', 'mail.unavailable'])
  })
})

test('an idle connection is used again, and one that the server has closed is replaced at once', async () => {
  const server = await servers.mail()
  const transport = transportTo(at(server.port))
  await transport.send(MESSAGE, never)
  await transport.send(MESSAGE, never)
  expect(server.connections).toBe(1)
  server.cut()
  await transport.send(MESSAGE, never)
  expect(server.received).toHaveLength(3)
  expect(server.connections).toBe(2)
})

test('an abort closes the connection in the middle of a conversation', async () => {
  const server = await servers.mail()
  const stop = new AbortController()
  server.onMessage = () => {
    stop.abort(new Error('The job was cancelled.'))
    return new Promise(() => {})
  }
  await expect(transportTo(at(server.port)).send(MESSAGE, stop.signal)).rejects.toThrow('The job was cancelled.')
  await expect.poll(() => server.open).toBe(0)
})

test('closing leaves no connection behind', async () => {
  const server = await servers.mail()
  const transport = transportTo(at(server.port))
  await transport.send(MESSAGE, never)
  expect(server.open).toBe(1)
  transport.close()
  await expect.poll(() => server.open).toBe(0)
})

describe('TLS and login', () => {
  const withLogin: SMTPServerOptions = {
    disabledCommands: [],
    authOptional: false,
    onAuth: ({ username, password }, _session, answer) =>
      username === 'regie' && password === 'open sesame'
        ? answer(null, { user: username })
        : answer(refusal(535, '5.7.8 Authentication credentials invalid for regie')),
  }
  const login = { user: 'regie', password: 'open sesame' }
  const tls = { tls: { ca: CERTIFICATE } }

  test('STARTTLS, then the login', async () => {
    const server = await servers.mail(withLogin)
    await transportTo(at(server.port, { login, requireTls: true }), tls).send(MESSAGE, never)
    expect(server.received[0]).toMatchObject({ secure: true, user: 'regie' })
  })

  test('TLS from the first byte', async () => {
    const server = await servers.mail({ ...withLogin, secure: true })
    await transportTo(at(server.port, { secure: true, login }), tls).send(MESSAGE, never)
    expect(server.received[0]).toMatchObject({ secure: true, user: 'regie' })
  })

  test('a wrong password is ours to correct: tried again, never final', async () => {
    const server = await servers.mail(withLogin)
    const transport = transportTo(at(server.port, { login: { ...login, password: 'guess' }, requireTls: true }), tls)
    const failure = await failureOf(transport.send(MESSAGE, never))
    expect([failure.failureClass, failure.code]).toEqual(['TRANSIENT', 'mail.login_refused'])
    expect(`${failure.message}${failure.stack}`).not.toMatch(/guess|invalid for/)
  })

  test('a login that cannot be checked at the moment is not a wrong one', async () => {
    const server = await servers.mail({
      ...withLogin,
      onAuth: (_auth, _session, answer) => answer(refusal(454, '4.7.0 Temporary authentication failure')),
    })
    const failure = await failureOf(transportTo(at(server.port, { login, requireTls: true }), tls).send(MESSAGE, never))
    expect([failure.failureClass, failure.code]).toEqual(['TRANSIENT', 'mail.unavailable'])
  })

  test('a certificate that nobody vouches for', async () => {
    const server = await servers.mail(withLogin)
    const failure = await failureOf(transportTo(at(server.port, { login, requireTls: true })).send(MESSAGE, never))
    expect([failure.failureClass, failure.code]).toEqual(['TRANSIENT', 'mail.tls_failed'])
    expect(server.received).toEqual([])
  })

  test('a server without TLS never sees the password', async () => {
    const spoken: string[] = []
    const plain = await servers.raw((socket) => {
      socket.write('220 plain\r\n')
      socket.on('data', (bytes: Buffer) => {
        spoken.push(bytes.toString())
        socket.write(bytes.toString().startsWith('EHLO') ? '250-plain\r\n250 AUTH PLAIN LOGIN\r\n' : '502 no\r\n')
      })
    })
    const failure = await failureOf(transportTo(at(plain.port, { login, requireTls: true })).send(MESSAGE, never))
    expect([failure.failureClass, failure.code]).toEqual(['TRANSIENT', 'mail.tls_failed'])
    expect(spoken.join('')).not.toMatch(/AUTH/)
  })
})
