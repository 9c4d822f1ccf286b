import { expect, test } from 'vitest'
import { v7 as uuidv7 } from 'uuid'
import { authenticating } from '../../src/server/callers.ts'
import type { Claims } from '../../src/viewer/index.ts'
import { useDatabase } from '../harness/database.ts'

const db = useDatabase()

test('R38 an older token does not keep the rights of an operator that a newer one no longer gives', async () => {
  const tenantId = uuidv7()
  await db.pool.query('insert into tenant (id, name) values ($1, $2)', [tenantId, 'Acme'])
  const claims = (secondsAgo: number, ...roles: string[]): Claims => ({
    subject: 'ann',
    tenantId,
    roles,
    email: null,
    issuedAt: new Date((Math.floor(Date.now() / 1000) - secondsAgo) * 1000),
    expiresAt: new Date(Date.now() + 60_000),
  })
  const tokens: Record<string, Claims> = { older: claims(20, 'operator'), newer: claims(10, 'reader') }
  const authenticate = authenticating(async (token) => tokens[token]!, db.database)
  const rightsOf = async (token: string) => {
    const { viewer, operator } = await authenticate(`Bearer ${token}`, 'test')
    return [viewer?.roles, operator !== null]
  }
  expect(await rightsOf('older')).toEqual([['operator'], true])
  expect(await rightsOf('newer')).toEqual([['reader'], false])
  expect(await rightsOf('older')).toEqual([['reader'], false])
})
