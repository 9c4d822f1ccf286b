import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { projectFolder } from '../../src/database/index.ts'
import { API_ERROR_CODES } from '../../src/schema/errors/index.ts'
import { readConfiguration } from '../../src/server/configuration.ts'
import { VARIABLES } from '../../src/server/variables.ts'

const PROVIDER = {
  JWT_JWKS_URL: 'https://login.example/keys',
  JWT_ISSUER: 'https://login.example/',
  JWT_AUDIENCE: 'regie',
}

test('an empty environment is enough for a bare machine', () => {
  expect(readConfiguration({})).toMatchObject({
    databaseUrl: null,
    host: '127.0.0.1',
    port: 4000,
    role: 'all',
    introspection: true,
    graphiql: true,
    tokens: { kind: 'development' },
    warnings: [],
  })
})

test('an address that others can reach closes introspection and GraphiQL', () => {
  expect(readConfiguration({ HOST: '0.0.0.0', ...PROVIDER })).toMatchObject({ introspection: false, graphiql: false })
})

test('the prefix REGIE_ wins over the plain name', () => {
  expect(readConfiguration({ PORT: '1', REGIE_PORT: '2' }).port).toBe(2)
})

for (const [environment, what, why] of [
  [{ PORT: 'http' }, 'The variable PORT is not right.', 'It is "http"; it must be a whole number.'],
  [{ PORT: '70000' }, 'The variable PORT is not right.', 'It is "70000"; it must be from 0 to 65535.'],
  [{ ROLE: 'both' }, 'The variable ROLE is not right.', 'It is "both"; it must be one of api, worker, all.'],
  [{ NOTIFY: 'maybe' }, 'The variable NOTIFY is not right.', 'It is "maybe"; it must be "on" or "off".'],
  [
    { DATABASE_URL: 'mysql://root:topsecret@db' },
    'The variable DATABASE_URL is not right.',
    'It is "(not shown)"; it must be an address that begins with postgresql://.',
  ],
  [
    { ALLOWED_ORIGINS: 'https://app.example/path' },
    'The variable ALLOWED_ORIGINS is not right.',
    'It is "https://app.example/path"; it must be a list of origins, each scheme and host without a path.',
  ],
  [
    { JWT_JWKS_URL: PROVIDER.JWT_JWKS_URL },
    'The variable JWT_ISSUER is not right.',
    'It is not set; it must be set together with the key.',
  ],
  [
    { CURSOR_SECRET: 'short' },
    'The variable CURSOR_SECRET is not right.',
    'It is "(not shown)"; it needs at least 16 characters.',
  ],
  [
    { HOST: '0.0.0.0' },
    'Regie does not make development tokens here.',
    'It would listen on 0.0.0.0, where other machines could use them, and no identity provider is set.',
  ],
  [
    { DEVELOPMENT_TOKENS: 'off' },
    'Regie does not know whose tokens to accept.',
    'DEVELOPMENT_TOKENS is off, and neither JWT_JWKS_URL nor JWT_PUBLIC_KEY is set.',
  ],
] as const) {
  test(`${JSON.stringify(environment)} is refused in a clear sentence`, () => {
    expect(() => readConfiguration(environment)).toThrow(expect.objectContaining({ name: 'StartupError', what, why }))
  })
}

test('shared-secret algorithms cannot be configured', () => {
  for (const name of ['HS256', 'none'])
    expect(() => readConfiguration({ ...PROVIDER, JWT_ALGORITHMS: name })).toThrow(/JWT_ALGORITHMS/)
})

test('a variable that looks like ours and is not is pointed out', () => {
  expect(readConfiguration({ REGIE_THREAD: '2', REGIE_XYZZY: '1', OTHER: 'x' }).warnings).toEqual([
    'The variable REGIE_THREAD means nothing to this version. Did you mean REGIE_THREADS?',
    'The variable REGIE_XYZZY means nothing to this version. docs/operating.md lists the variables.',
  ])
})

test('a mail server: host, port and login of one address, TLS wherever a password would cross a network', () => {
  const mailOf = (SMTP_URL: string) => readConfiguration({ SMTP_URL, MAIL_FROM: 'Regie <regie@acme.example>' }).mail
  expect(readConfiguration({})).toMatchObject({ mail: null, mailLocale: 'en', draftReminderDays: 7 })
  expect(mailOf('smtp://user%40acme:p%2Fss@mail.acme.example')).toEqual({
    server: {
      host: 'mail.acme.example',
      port: 587,
      secure: false,
      login: { user: 'user@acme', password: 'p/ss' },
      requireTls: true,
    },
    sender: { name: 'Regie', address: 'regie@acme.example' },
  })
  expect(mailOf('smtps://u:p@mail.acme.example')?.server).toMatchObject({ port: 465, secure: true, requireTls: false })
  expect(mailOf('smtp://relay.acme.example:25')?.server).toMatchObject({ port: 25, login: null, requireTls: false })
  expect(mailOf('smtp://u:p@127.0.0.1:1025')?.server).toMatchObject({ requireTls: false })
  expect(mailOf('smtp://[::1]:1025')?.server).toMatchObject({ host: '::1' })
})

for (const [SMTP_URL, why] of [
  ['mail.acme.example', 'no scheme'],
  ['http://mail.acme.example', 'another scheme'],
  ['smtp://mail.acme.example/inbox', 'a path'],
  ['smtp://u:topsecret@mail.acme.example?tls.rejectUnauthorized=false', 'settings of a library'],
  ['smtp://u:top%secret@mail.acme.example', 'a % that escapes nothing'],
  ['smtp://', 'no host'],
] as const)
  test(`a mail server with ${why} is refused, and its password not shown`, () => {
    const reading = () => readConfiguration({ SMTP_URL, MAIL_FROM: 'regie@acme.example' })
    expect(reading).toThrow(/SMTP_URL is not right/)
    expect(() => {
      try {
        reading()
      } catch (error) {
        throw new Error(JSON.stringify([String(error), error]))
      }
    }).not.toThrow(/topsecret|top%secret/)
  })

test('a mail server needs somebody whom its mail is from', () => {
  const server = { SMTP_URL: 'smtp://mail.acme.example' }
  expect(() => readConfiguration(server)).toThrow(/MAIL_FROM is not right/)
  expect(() => readConfiguration({ ...server, MAIL_FROM: 'Regie' })).toThrow(/MAIL_FROM is not right/)
})

test('every example is accepted', () => {
  const { publicKey } = generateKeyPairSync('ed25519', {
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  })
  for (const [name, { example }] of Object.entries(VARIABLES)) {
    const value = name === 'JWT_PUBLIC_KEY' ? publicKey : example
    const environment =
      name === 'DEVELOPMENT_TOKENS' || name === 'HOST' ? { ...PROVIDER, [name]: value } : { [name]: value }
    const complete = name.startsWith('JWT_')
      ? { ...PROVIDER, [name]: value }
      : { MAIL_FROM: VARIABLES.MAIL_FROM.example, ...environment }
    expect(() => readConfiguration(complete), name).not.toThrow()
  }
})

const document = (name: string) => readFileSync(join(projectFolder(), 'docs', name), 'utf8')

test('docs/operating.md lists every variable with its standard and its meaning, and no other', () => {
  const rows = [...document('operating.md').matchAll(/^\| `([A-Z_]+)` \| (.*?) \| (.*?) \|$/gm)].map((row) =>
    row.slice(1),
  )
  expect(rows).toEqual(Object.entries(VARIABLES).map(([name, { standard, meaning }]) => [name, standard, meaning]))
})

test('R16 docs/error-codes.md explains every code, and no other', () => {
  const codes = [...document('error-codes.md').matchAll(/^\| `([A-Z_]+)` \|/gm)].map((row) => row[1])
  expect(codes).toEqual([...API_ERROR_CODES])
})
