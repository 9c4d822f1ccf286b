import { serverAudits } from 'graphql-http'
import { expect, test } from 'vitest'
import { useFixtureServer } from './fixture-server.ts'

const start = useFixtureServer()
let url = ''

const withToken: typeof fetch = (input, init) =>
  fetch(input, { ...init, headers: { authorization: 'Bearer ann', ...(init?.headers as Record<string, string>) } })

for (const audit of serverAudits({ url: () => url, fetchFn: withToken })) {
  // MAY items are free to either side; everything else must pass.
  test(`R18 GraphQL over HTTP, ${audit.id}: ${audit.name}`, async () => {
    url = (await start()).graphqlUrl
    const result = await audit.fn()
    if (audit.name.startsWith('MAY')) expect(['ok', 'notice']).toContain(result.status)
    else expect(result, 'reason' in result ? result.reason : '').toMatchObject({ status: 'ok' })
  })
}
