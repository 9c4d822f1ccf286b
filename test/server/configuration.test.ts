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
