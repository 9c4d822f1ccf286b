import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  mailAddress,
  type MailContent,
  mailLifecycle,
  type MailTransport,
  senderOf,
} from '../../src/domain/mail/index.ts'
import { allOrderedPairs, lifecycleDiagram } from '../../src/transitions/index.ts'
import { readFileSync } from 'node:fs'
import { useDatabase } from '../harness/database.ts'
import { useEngines } from '../jobs/support.ts'
import { expectDatabaseAgrees } from '../transitions/agreement.ts'
import { deliveryTo, HELLO, mailRow, plan, script, tenantWithAnna } from './scene.ts'
import { at, type Received, useServers } from './smtp.ts'

const db = useDatabase()
const engines = useEngines(db)
const servers = useServers()
const transports: MailTransport[] = []
beforeEach(() => {
  script.say = () => HELLO
})
afterEach(() => {
  for (const transport of transports.splice(0)) transport.close()
})

/** What arrives when Anna, under this address, is written to. */
async function sent(content: MailContent, address = 'anna@acme.example'): Promise<Received> {
  const server = await servers.mail()
  const { job, transport } = deliveryTo(at(server.port))
  transports.push(transport)
  const { engine, signals } = await engines.start([job])
  script.say = () => content
  const { jobId } = await plan(db, await tenantWithAnna(db, address))
  await signals.first('ENDED', (signal) => signal.jobId === jobId)
  // The next one of the test has a server of its own.
  await engine.stop(500)
  return server.received[0]!
}

const headersOf = ({ raw }: Received) =>
  raw
    .slice(0, raw.indexOf('\r\n\r\n'))
    .replaceAll(/\r\n[ \t]+/g, ' ')
    .split('\r\n')

test('a line break in a subject begins no header', async () => {
  const hostile = 'Draft "x\r\nBcc: everybody@acme.example\r\n\r\n<script>\u2028\u0000\u001b[31m" waits'
  const mail = await sent({ subject: hostile, text: 'x' })
  const headers = headersOf(mail)
  expect(headers.filter((line) => /^(bcc|cc):/i.test(line))).toEqual([])
  expect(headers.filter((line) => /^subject:/i.test(line))).toHaveLength(1)
  expect(subjectOf(mail)).toBe('Draft "x Bcc: everybody@acme.example <script> [31m" waits')
  expect(mail.to).toEqual(['anna@acme.example'])
})

test('every text that a name can be leaves one subject, and nobody else as recipient', async () => {
  for (const name of [
    '\n',
    '\r',
    '\u0085',
    '\u2029',
    '%0d%0aBcc: x@y.example',
    '=?utf-8?q?=0d=0aBcc:_x=40y.example?=',
  ]) {
    const mail = await sent({ subject: `a${name}b`, text: 'x' })
    expect(headersOf(mail).filter((line) => /^(bcc|cc|to|subject):/i.test(line))).toHaveLength(2)
    expect(mail.to).toEqual(['anna@acme.example'])
  }
})

test('letters of every alphabet arrive', async () => {
  const mail = await sent({ subject: 'Entwurf „Größe“ – 組織 🎭', text: 'Übermorgen: naïve façade, 組織, 🎭' })
  expect(subjectOf(mail)).toBe('Entwurf „Größe“ – 組織 🎭')
  expect(mail.raw).toMatch(/charset=utf-8/i)
  const [, way] = /^Content-Transfer-Encoding: (\S+)\r$/m.exec(mail.raw)!
  const body = mail.raw.slice(mail.raw.indexOf('\r\n\r\n') + 4)
  expect(decoded(way === 'base64' ? 'B' : 'Q', body.replaceAll('=\r\n', '')).trim()).toBe(
    'Übermorgen: naïve façade, 組織, 🎭',
  )
})

/** As a program for mail shows it (RFC 2047). */
function subjectOf(mail: Received): string {
  const written = headersOf(mail)
    .find((line) => line.startsWith('Subject: '))!
    .slice('Subject: '.length)
  const words = [...written.matchAll(/=\?UTF-8\?([BQ])\?([^?]*)\?=/gi)]
  return words.length === 0 ? written : words.map(([, how, word]) => decoded(how!, word!)).join('')
}

const decoded = (how: string, text: string): string =>
  how.toUpperCase() === 'B'
    ? Buffer.from(text, 'base64').toString('utf8')
    : Buffer.from(
        text
          .replaceAll('_', ' ')
          .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16))),
        'latin1',
      ).toString('utf8')

test('a domain in another alphabet is written as DNS knows it', async () => {
  const mail = await sent(HELLO, 'anna@bücher.example')
  expect(headersOf(mail)).toContain('To: anna@xn--bcher-kva.example')
  // The server of these tests turns it back.
  expect(mail.to).toEqual(['anna@bücher.example'])
})

test('a subject too long to read is cut, between two characters', async () => {
  const mail = await sent({ subject: `${'x'.repeat(198)}🎭${'y'.repeat(500)}`, text: 'x' })
  expect(mail.raw).not.toMatch(/yyy/)
  expect(mail.raw).not.toContain('=EF=BF=BD')
})

describe('an address', () => {
  for (const good of [
    'anna@acme.example',
    "o'hara+regie@a-b.example",
    'ärztin@acme.example',
    `${'a'.repeat(64)}@b.example`,
  ])
    test(`is ${good.slice(0, 30)}`, () => expect(mailAddress(good)).toBe(good))
  for (const bad of [
    'anna',
    '@acme.example',
    'anna@',
    'anna@acme.example, bob@acme.example',
    'Anna <anna@acme.example>',
    'anna@acme.example\r\nBcc: bob@acme.example',
    'anna@acme.example\n',
    'anna bob@acme.example',
    '"anna@x"@acme.example',
    'anna@acme@acme.example',
    'an..na@acme.example',
    'anna@-acme.example',
    'anna@acme..example',
    'anna@[10.0.0.1]',
    'anna@acme.example>',
    'anna\0@acme.example',
    `${'a'.repeat(65)}@b.example`,
    `a@${'b'.repeat(260)}`,
  ])
    test(`is not ${JSON.stringify(bad.slice(0, 40))}`, () => expect(mailAddress(bad)).toBeNull())

  test('of a sender may come with a name', () => {
    expect(senderOf('Regie <regie@acme.example>')).toEqual({ name: 'Regie', address: 'regie@acme.example' })
    expect(senderOf('regie@acme.example')).toEqual({ name: '', address: 'regie@acme.example' })
    for (const bad of ['', 'Regie', 'Regie <regie>', 'R <a@b.example> x', 'R\n<a@b.example>', '"R" <a@b.example>'])
      expect(senderOf(bad), bad).toBeNull()
  })
})

describe('the lifecycle', () => {
  test('the database allows its pairs and no other', () => expectDatabaseAgrees(db.database, [mailLifecycle]))

  test('every ordered pair, tried past the code', async () => {
    const { mailId } = await plan(db, await tenantWithAnna(db))
    const { version } = await mailRow(db, mailId)
    for (const { from, to, allowed } of allOrderedPairs(mailLifecycle).filter((pair) => pair.from !== null)) {
      const client = await db.pool.connect()
      try {
        await client.query('begin')
        // Where the pair begins, without a transition: the trigger looks at what is written from here on.
        await client.query('alter table mail disable trigger mail_transition')
        await client.query('update mail set status = $2 where id = $1', [mailId, from])
        await client.query('alter table mail enable trigger mail_transition')
        await client.query('update mail set status = $2, version = version + 1 where id = $1', [mailId, to])
        await client.query(
          `insert into event (tenant_id, subject_kind, subject_id, sequence, type, "from", "to", data, actor, correlation_id)
           select tenant_id, 'mail', id, $2, 'test', $3, $4, '{}', 'test', 'test' from mail where id = $1`,
          [mailId, version + 1, from, to],
        )
        const checked = client.query('set constraints all immediate')
        if (allowed) await checked
        else await expect(checked, `${from} → ${to}`).rejects.toMatchObject({ code: 'RG003' })
      } finally {
        await client.query('rollback')
        client.release()
      }
    }
  })

  test('docs/mail.md shows it as it is', () => {
    expect(readFileSync('docs/mail.md', 'utf8')).toContain(lifecycleDiagram(mailLifecycle).trim())
  })
})
