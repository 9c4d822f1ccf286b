import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, type CryptoKey, type JWTPayload } from 'jose'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { KeysUnavailable, makeTokenVerifier, TokenRefused, type TokenRules } from '../../src/viewer/index.ts'

const ISSUER = 'https://login.example/'
const AUDIENCE = 'regie'
const TENANT = '0198c0de-0000-7000-8000-000000000001'
const RULES = {
  issuer: ISSUER,
  audience: AUDIENCE,
  algorithms: ['RS256'],
  tenantClaim: 'tenant',
  rolesClaim: 'roles',
  emailClaim: 'email',
}

let keys: { privateKey: CryptoKey; publicKey: CryptoKey }
let rules: TokenRules

beforeAll(async () => {
  keys = await generateKeyPair('RS256', { extractable: true })
  rules = { ...RULES, keys: { publicKeyPem: await exportSPKI(keys.publicKey) } }
})

interface Made {
  readonly payload?: JWTPayload
  readonly issuer?: string
  readonly audience?: string
  readonly issuedAt?: string | number
  readonly expiresAt?: string | number
  readonly algorithm?: string
  readonly key?: CryptoKey | Uint8Array
}

/** A good token but for what is given. */
async function token(made: Made = {}): Promise<string> {
  return new SignJWT({ sub: 'ann', tenant: TENANT, roles: ['editor'], ...made.payload })
    .setProtectedHeader({ alg: made.algorithm ?? 'RS256', kid: 'one' })
    .setIssuer(made.issuer ?? ISSUER)
    .setAudience(made.audience ?? AUDIENCE)
    .setIssuedAt(made.issuedAt ?? made.payload?.iat)
    .setExpirationTime(made.expiresAt ?? '1h')
    .sign(made.key ?? keys.privateKey)
}

test('a good token says who it is', async () => {
  const verify = makeTokenVerifier(rules)
  const claims = await verify(await token())
  expect(claims).toMatchObject({ subject: 'ann', tenantId: TENANT, roles: ['editor'] })
  expect(claims.expiresAt.getTime() - claims.issuedAt.getTime()).toBe(3_600_000)
})

test('a token that never ends ends at the last moment a clock can show', async () => {
  const { expiresAt } = await makeTokenVerifier(rules)(await token({ expiresAt: 1e300 }))
  expect(expiresAt.getTime()).toBe(8.64e15)
})

const REFUSED: Record<string, () => Promise<string>> = {
  'an expired token': () => token({ issuedAt: 1_000, expiresAt: 2_000 }),
  'a token of another issuer': () => token({ issuer: 'https://other.example/' }),
  'a token for another audience': () => token({ audience: 'other' }),
  'a token of another key': async () => token({ key: (await generateKeyPair('RS256')).privateKey }),
  'a token of an algorithm that is not accepted': async () =>
    token({ algorithm: 'PS256', key: (await generateKeyPair('PS256')).privateKey }),
  'a token signed with the public key as a shared secret': async () =>
    token({ algorithm: 'HS256', key: new TextEncoder().encode(await exportSPKI(keys.publicKey)) }),
  'an unsigned token': async () => {
    const [, payload] = (await token()).split('.')
    return `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`
  },
  'a token whose payload was changed': async () => {
    const [head, , signature] = (await token()).split('.')
    const payload = Buffer.from(JSON.stringify({ sub: 'eve', tenant: TENANT, roles: ['operator'] })).toString(
      'base64url',
    )
    return `${head}.${payload}.${signature}`
  },
  'a token without a subject': () => token({ payload: { sub: undefined } as never }),
  'a token whose tenant is no UUID': () => token({ payload: { tenant: "x' or 1=1" } }),
  'a token whose roles are no list': () => token({ payload: { roles: 'administrator' } }),
  'a token from the future': () => token({ payload: { nbf: Math.floor(Date.now() / 1000) + 600 } }),
  'a token issued in the future, which no revocation would reach': () =>
    token({ issuedAt: Math.floor(Date.now() / 1000) + 60, expiresAt: Math.floor(Date.now() / 1000) + 3_600 }),
  'a token whose iat is no moment': () => token({ payload: { iat: 1e300 } }),
  'a token whose subject holds NUL': () => token({ payload: { sub: 'ann\0' } }),
  'a token whose subject holds half a surrogate pair': () => token({ payload: { sub: 'ann\ud800' } }),
  'a token with a role that cannot be stored': () => token({ payload: { roles: ['editor', '\0'] } }),
  'no token at all': async () => '',
  noise: async () => 'a.b.c',
}

for (const [name, make] of Object.entries(REFUSED)) {
  test(`R38 ${name} is refused without a word of its content`, async () => {
    const verify = makeTokenVerifier(rules)
    const given = await make()
    const refusal = await verify(given).then(
      () => null,
      (error: unknown) => error as Error,
    )
    expect(refusal).toBeInstanceOf(TokenRefused)
    expect(refusal!.message).not.toMatch(/ann|eve|1=1|example/)
  })
}

test('a token’s mail address counts when it can be one and nobody says that it is not verified', async () => {
  const verify = makeTokenVerifier(rules)
  const emailIn = async (payload: JWTPayload) => (await verify(await token({ payload }))).email
  expect(await emailIn({ email: 'ann@acme.example' })).toBe('ann@acme.example')
  expect(await emailIn({ email: 'ann@acme.example', email_verified: true })).toBe('ann@acme.example')
  expect(await emailIn({ email: 'ann@acme.example', email_verified: false })).toBeNull()
  for (const email of [
    undefined,
    null,
    '',
    7,
    {},
    ['a@b.example'],
    'ann',
    'a b@c.example',
    'a@b\r\nBcc: c@d',
    'a\0@b',
    `${'a'.repeat(250)}@b.example`,
  ])
    expect(await emailIn({ email }), JSON.stringify(email)).toBeNull()
  const elsewhere = makeTokenVerifier({ ...rules, emailClaim: 'upn' })
  expect((await elsewhere(await token({ payload: { upn: 'ann@upn.example', email: 'ann@acme.example' } }))).email).toBe(
    'ann@upn.example',
  )
})

let jwks: Server
let answer: () => { status: number; body: string } = () => ({ status: 200, body: '{}' })
let jwksUrl = ''

beforeAll(async () => {
  jwks = createServer((_request, response) => {
    const { status, body } = answer()
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  })
  await new Promise<void>((resolve) => jwks.listen(0, '127.0.0.1', resolve))
  jwksUrl = `http://127.0.0.1:${(jwks.address() as AddressInfo).port}/keys`
})
afterAll(() => new Promise((resolve) => jwks.close(resolve)))

test('R38 keys are fetched from a JWKS address', async () => {
  const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'RS256' }
  answer = () => ({ status: 200, body: JSON.stringify({ keys: [jwk] }) })
  const verify = makeTokenVerifier({ ...RULES, keys: { jwksUrl } })
  expect(await verify(await token())).toMatchObject({ subject: 'ann' })
})

test('R38 an identity provider that is down refuses nobody: it is said that keys cannot be had', async () => {
  answer = () => ({ status: 503, body: 'maintenance' })
  await expect(makeTokenVerifier({ ...RULES, keys: { jwksUrl } })(await token())).rejects.toThrow(KeysUnavailable)
  const nowhere = makeTokenVerifier({ ...RULES, keys: { jwksUrl: 'http://127.0.0.1:1/keys' } })
  await expect(nowhere(await token())).rejects.toThrow(KeysUnavailable)
})
