import { expect, test } from 'vitest'
import { dataWithoutSecrets, isSecretName, looksSecret, withoutSecrets } from '../../src/errors/index.ts'

test.each([
  ['a token eyJhbGciOiJ.eyJzdWIiOi.c2lnbmF0 of somebody', 'a token [token] of somebody'],
  ['Bearer abc.def12345', 'Bearer [redacted]'],
  ['basic dXNlcjpwYXNz1=', 'basic [redacted]'],
  ['Authorization: Bearer abcdefgh', 'Authorization: [redacted]'],
  ['postgresql://regie:s3cret@db:5432/regie', 'postgresql://[redacted]@db:5432/regie'],
  ['{"password":"two words","n":1}', '{"password":[redacted],"n":1}'],
  ['https://x.example/cb?access_token=abc&state=2', 'https://x.example/cb?access_token=[redacted]&state=2'],
  ['clientSecret = hunter2, and more', 'clientSecret = [redacted], and more'],
  ['-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- and after', '[private key] and after'],
  ['-----BEGIN PRIVATE KEY-----\ncut off', '[private key]'],
])('J36 a text loses its secrets: %s', (text, clean) => {
  expect(withoutSecrets(text)).toBe(clean)
  // What was replaced once stays as it is.
  expect(withoutSecrets(clean)).toBe(clean)
})

test.each([
  'Password reset for Ann',
  'Basic training for all; bearer of good news',
  'Workflow Execution: Onboarding',
  'https://user@example.org/path?x=1',
  'The cookie recipe',
])('J36 what is none stays: %s', (text) => {
  expect(withoutSecrets(text)).toBe(text)
  expect(looksSecret(text)).toBe(false)
})

test('J36 fields are known by their names, whatever their spelling', () => {
  for (const name of ['password', 'Passwd', 'client_secret', 'clientSecret', 'accessToken', 'api-key', 'COOKIE'])
    expect(isSecretName(name), name).toBe(true)
  for (const name of ['passwordChangedAt', 'tokens', 'keyId', 'secretary']) expect(isSecretName(name), name).toBe(false)
})

test('J36 data keeps its shape, to a certain depth', () => {
  const at = new Date(0)
  expect(
    dataWithoutSecrets({
      token: 't',
      list: ['Bearer abcdef123', 2],
      at,
      none: null,
      secret: null,
      in: { apiKey: { a: 1 } },
    }),
  ).toEqual({
    token: '[redacted]',
    list: ['Bearer [redacted]', 2],
    at,
    none: null,
    secret: null,
    in: { apiKey: '[redacted]' },
  })
  const endless: Record<string, unknown> = {}
  endless['self'] = endless
  expect(JSON.stringify(dataWithoutSecrets(endless))).toContain('[too deep]')
  expect(dataWithoutSecrets(JSON.parse('{"__proto__": {"password": "x"}}'))).toEqual(
    JSON.parse('{"__proto__": {"password": "[redacted]"}}'),
  )
})
