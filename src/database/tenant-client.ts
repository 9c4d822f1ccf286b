import type { Prisma, PrismaClient } from './generated/prisma/client.ts'

/** A Prisma client, or transaction, that reads and writes the rows of one tenant only. */
export type TenantPrisma = Prisma.TransactionClient

/** `PrismaClient` narrowed to one tenant; made per request, which costs nothing measurable. */
export type TenantClient = TenantPrisma & Pick<PrismaClient, '$transaction'>

/**
 * Narrows every top-level operation to the tenant: `where` gains it, `data` has it set. Nested writes are not
 * reached by an extension; composite foreign keys and a lint rule against nested `connect`/`set` close that door.
 */
export function boundToTenant(prisma: PrismaClient, tenantId: string): TenantClient {
  const bound = prisma.$extends({
    query: {
      $allModels: {
        $allOperations({ model, operation, args, query }) {
          const key = model === 'Tenant' ? 'id' : 'tenantId'
          const narrowed: Record<string, unknown> = { ...args }
          if (operation !== 'create' && operation !== 'createMany' && operation !== 'createManyAndReturn') {
            narrowed['where'] = { ...(narrowed['where'] as object | undefined), [key]: tenantId }
          }
          if (operation === 'upsert') narrowed['create'] = { ...(narrowed['create'] as object), [key]: tenantId }
          if (operation.startsWith('create')) {
            const data = narrowed['data'] as object | object[]
            narrowed['data'] = Array.isArray(data)
              ? data.map((row: object) => ({ ...row, [key]: tenantId }))
              : { ...data, [key]: tenantId }
          }
          return query(narrowed as typeof args)
        },
      },
    },
  })
  return bound as unknown as TenantClient
}
