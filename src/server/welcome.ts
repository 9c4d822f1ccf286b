import { statement, type Queryable } from '../database/index.ts'
import { ConflictError } from '../errors/index.ts'
import { createTenant } from '../viewer/index.ts'
import type { Regie } from './regie.ts'

const DEMO = 'Demo'
const FIRST_TENANT = statement<{ id: string; name: string }>(
  'server.first_tenant',
  `select id, name from tenant order by name <> $1, created_at, id limit 1`,
)

/**
 * What somebody needs who has just started Regie on a machine of their own: where it is, and a token to try it
 * with, for a tenant that is made when there is none.
 */
export async function welcome(regie: Regie): Promise<string[]> {
  const lines = [`Regie listens on ${regie.url}`]
  if (regie.configuration.tokens.kind !== 'development' || regie.configuration.role === 'worker') return lines
  const tenant = await demoTenant(regie)
  const token = await regie.developmentToken({
    tenantId: tenant.id,
    subject: 'developer',
    roles: ['administrator', 'operator'],
  })
  return [
    ...lines,
    ...(regie.configuration.graphiql ? [`GraphiQL          ${regie.graphqlUrl}`] : []),
    `Health            ${regie.url}/health/ready`,
    `Tenant            ${tenant.name} (${tenant.id})`,
    'Token for 12 hours, administrator and operator; in GraphiQL put this under "Headers":',
    `{"authorization": "Bearer ${token}"}`,
  ]
}

async function demoTenant(regie: Regie): Promise<{ readonly id: string; readonly name: string }> {
  const known = await firstTenant(regie.database)
  if (known !== undefined) return known
  const { tenantHooks } = await import('./composition.ts')
  const now = new Date()
  const operator = {
    subject: 'developer',
    roles: ['operator'],
    tokenIssuedAt: now,
    tokenExpiresAt: now,
    correlationId: 'first-start',
  }
  try {
    return await createTenant({ operator, database: regie.database }, { name: DEMO }, tenantHooks)
  } catch (error) {
    // Another process made its first start on this database at the same moment.
    const made = error instanceof ConflictError ? await firstTenant(regie.database) : undefined
    if (made === undefined) throw error
    return made
  }
}

const firstTenant = async (database: Queryable) => (await database.run(FIRST_TENANT, [DEMO]))[0]
