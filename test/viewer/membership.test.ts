import { beforeEach, describe, expect, test } from 'vitest'
import { v7 as uuidv7 } from 'uuid'
import { ConflictError, ForbiddenError, NotFoundError, ValidationError } from '../../src/errors/index.ts'
import {
  addressOf,
  admit,
  createTenant,
  membershipOf,
  revokedAmong,
  revokeMembership,
  TokenRefused,
  type Claims,
  type Operator,
} from '../../src/viewer/index.ts'
import { useDatabase } from '../harness/database.ts'

const db = useDatabase()
const SECOND = 1_000
let tenantId = ''

/** Whole seconds before now, as an `iat` counts. */
const secondsAgo = (seconds: number) => new Date((Math.floor(Date.now() / SECOND) - seconds) * SECOND)

const claims = (roles: string[], issuedAt: Date, subject = 'ann'): Claims => ({
  subject,
  tenantId,
  roles,
  email: null,
  issuedAt,
  expiresAt: new Date(issuedAt.getTime() + 3_600 * SECOND),
})

const operator: Operator = {
  subject: 'olga',
  roles: ['operator'],
  tokenIssuedAt: new Date(),
  tokenExpiresAt: new Date(),
  correlationId: 'test',
}
const call = () => ({ operator, database: db.database })

beforeEach(async () => {
  tenantId = (await createTenant(call(), { name: `Tenant ${uuidv7()}` }, [])).id
})

const membership = (subject = 'ann') => membershipOf(db.database, { tenantId, subject })

test('a membership is filed at first sight', async () => {
  expect(await membership()).toBeNull()
  expect(await admit(db.database, tenantId, claims(['reader'], secondsAgo(10)))).toEqual(['reader'])
  expect(await membership()).toEqual({ roles: ['reader'], active: true })
})

test('the roles of the newest token win, whichever comes last', async () => {
  await admit(db.database, tenantId, claims(['reader'], secondsAgo(10)))
  expect(await admit(db.database, tenantId, claims(['administrator'], secondsAgo(20)))).toEqual(['reader'])
  expect(await admit(db.database, tenantId, claims(['editor'], secondsAgo(5)))).toEqual(['editor'])
  expect(await admit(db.database, tenantId, claims(['reader'], secondsAgo(10)))).toEqual(['editor'])
})

test('twenty tokens at once leave the roles of the newest', async () => {
  await Promise.all(
    Array.from({ length: 20 }, (_, n) => admit(db.database, tenantId, claims([`role${n}`], secondsAgo(n + 1)))),
  )
  expect(await membership()).toEqual({ roles: ['role0'], active: true })
})

test('a token that is known costs one statement and writes nothing', async () => {
  const known = claims(['reader'], secondsAgo(10))
  await admit(db.database, tenantId, known)
  const statements: string[] = []
  await admit(
    {
      run: (statement, values) => {
        statements.push(statement.name)
        return db.database.run(statement, values)
      },
    },
    tenantId,
    known,
  )
  expect(statements).toEqual(['viewer.membership.seen'])
})

test('a revocation refuses every token issued before it, and a later one lets in again', async () => {
  const before = claims(['editor'], secondsAgo(10))
  await admit(db.database, tenantId, before)
  const { revokedAt } = await revokeMembership(call(), { tenantId, subject: 'ann' })
  await expect(admit(db.database, tenantId, before)).rejects.toThrow(TokenRefused)
  await expect(admit(db.database, tenantId, claims(['administrator'], secondsAgo(5)))).rejects.toThrow(TokenRefused)
  expect(await membership()).toMatchObject({ active: false })
  const after = claims(['reader'], new Date(revokedAt.getTime() + 2 * SECOND))
  expect(await admit(db.database, tenantId, after)).toEqual(['reader'])
  expect(await membership()).toEqual({ roles: ['reader'], active: true })
  await expect(admit(db.database, tenantId, before)).rejects.toThrow(TokenRefused)
})

test('R38 a token of the very moment of the revocation is refused too', async () => {
  const moment = secondsAgo(10)
  await revokeMembership(call(), { tenantId, subject: 'ann' })
  await db.pool.query('update membership set revoked_at = $2 where tenant_id = $1', [tenantId, moment])
  await expect(admit(db.database, tenantId, claims(['reader'], moment))).rejects.toThrow(TokenRefused)
})

test('a subject that was never seen can be revoked', async () => {
  await revokeMembership(call(), { tenantId, subject: 'bob' })
  await expect(admit(db.database, tenantId, claims(['reader'], secondsAgo(10), 'bob'))).rejects.toThrow(TokenRefused)
})

test('of open connections, those whose token no longer counts are found', async () => {
  const issuedAt = secondsAgo(10)
  await admit(db.database, tenantId, claims(['reader'], issuedAt))
  const holder = { tenantId, subject: 'ann', issuedAt }
  expect(await revokedAmong(db.database, [holder])).toEqual([])
  await revokeMembership(call(), { tenantId, subject: 'ann' })
  const later = { ...holder, issuedAt: new Date(Date.now() + 60 * SECOND) }
  expect(await revokedAmong(db.database, [holder, later, { ...holder, subject: 'bob' }])).toEqual([
    { tenantId, subject: 'ann', revokedAt: expect.any(Date) as Date },
  ])
})

test('a token for a tenant that does not exist is refused and leaves nothing', async () => {
  const nowhere = uuidv7()
  await expect(admit(db.database, nowhere, claims(['reader'], secondsAgo(1)))).rejects.toThrow(TokenRefused)
  expect(await membershipOf(db.database, { tenantId: nowhere, subject: 'ann' })).toBeNull()
})

test('only an operator makes tenants and revokes memberships', async () => {
  const somebody = { operator: { ...operator, roles: ['administrator', 'constructor'] }, database: db.database }
  await expect(createTenant(somebody, { name: 'Mine' }, [])).rejects.toThrow(ForbiddenError)
  await expect(revokeMembership(somebody, { tenantId, subject: 'ann' })).rejects.toThrow(ForbiddenError)
})

test('revoking in a tenant that does not exist says so', async () => {
  await expect(revokeMembership(call(), { tenantId: uuidv7(), subject: 'ann' })).rejects.toThrow(NotFoundError)
})

test('a subject that no token can name cannot be revoked', async () => {
  for (const subject of ['', 'x'.repeat(201), 'a\0b', '\ud800'])
    await expect(revokeMembership(call(), { tenantId, subject })).rejects.toThrow(ValidationError)
})

test('a tenant’s name is trimmed, has 1 to 200 characters and is taken once', async () => {
  for (const name of ['', '   ', 'x'.repeat(201), 'a\0b', '\ud800'])
    await expect(createTenant(call(), { name }, [])).rejects.toThrow(ValidationError)
  const name = `Acme ${uuidv7()}`
  expect(await createTenant(call(), { name: `  ${name} ` }, [])).toMatchObject({ name })
  const second = createTenant(call(), { name }, [])
  await expect(second).rejects.toThrow(ConflictError)
  await expect(second).rejects.toMatchObject({ code: 'tenant.name_taken', path: ['name'] })
})

test('what the domains do for a new tenant happens with it or not at all', async () => {
  const name = `Half ${uuidv7()}`
  const seen: string[] = []
  const failing = createTenant(call(), { name }, [
    async (tx, act) => void seen.push(`${tx.tenantId.length} ${act.actor} ${act.correlationId}`),
    () => Promise.reject(new Error('the domain cannot')),
  ])
  await expect(failing).rejects.toThrow('the domain cannot')
  expect(seen).toEqual(['36 olga test'])
  const { rows } = await db.pool.query('select 1 from tenant where name = $1', [name])
  expect(rows).toEqual([])
})

describe('the mail address', () => {
  const withEmail = (email: string | null, issuedAt: Date): Claims => ({ ...claims(['reader'], issuedAt), email })
  const email = async () => (await addressOf(db.database, { tenantId, subject: 'ann' }))?.email ?? null

  test('is that of the newest token that has one', async () => {
    await admit(db.database, tenantId, withEmail('old@acme.example', secondsAgo(10)))
    expect(await email()).toBe('old@acme.example')
    await admit(db.database, tenantId, withEmail(null, secondsAgo(8)))
    expect(await email()).toBe('old@acme.example')
    await admit(db.database, tenantId, withEmail('new@acme.example', secondsAgo(6)))
    await admit(db.database, tenantId, withEmail('older@acme.example', secondsAgo(9)))
    expect(await email()).toBe('new@acme.example')
  })

  test('is filed from a token that was seen before addresses were', async () => {
    const issuedAt = secondsAgo(10)
    await admit(db.database, tenantId, withEmail(null, issuedAt))
    await admit(db.database, tenantId, withEmail('ann@acme.example', issuedAt))
    expect(await email()).toBe('ann@acme.example')
  })

  test('is forgotten with a revocation, and no token from before brings it back', async () => {
    const before = withEmail('ann@acme.example', secondsAgo(10))
    await admit(db.database, tenantId, before)
    await revokeMembership(call(), { tenantId, subject: 'ann' })
    expect(await addressOf(db.database, { tenantId, subject: 'ann' })).toEqual({ email: null, active: false })
    await expect(admit(db.database, tenantId, before)).rejects.toThrow(TokenRefused)
    expect(await email()).toBeNull()
    await db.pool.query(`update membership set revoked_at = now() - interval '5 seconds' where tenant_id = $1`, [
      tenantId,
    ])
    await admit(db.database, tenantId, withEmail('ann@acme.example', secondsAgo(1)))
    expect(await addressOf(db.database, { tenantId, subject: 'ann' })).toEqual({
      email: 'ann@acme.example',
      active: true,
    })
  })

  test('is nobody’s in another tenant', async () => {
    await admit(db.database, tenantId, withEmail('ann@acme.example', secondsAgo(10)))
    const other = (await createTenant(call(), { name: `Tenant ${uuidv7()}` }, [])).id
    expect(await addressOf(db.database, { tenantId: other, subject: 'ann' })).toBeNull()
  })
})
