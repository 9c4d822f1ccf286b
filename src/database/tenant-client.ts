import type { Prisma, PrismaClient } from './generated/prisma/client.ts'

type RawSql = '$queryRaw' | '$queryRawUnsafe' | '$executeRaw' | '$executeRawUnsafe'

/** A Prisma client, or transaction, that reads and writes the rows of one tenant only. No raw SQL: `Tx.query`. */
export type TenantPrisma = Omit<Prisma.TransactionClient, RawSql>

/** `PrismaClient` narrowed to one tenant; made per request, which costs nothing measurable. */
export type TenantClient = TenantPrisma & Pick<PrismaClient, '$transaction'>

type Args = Readonly<Record<string, unknown>>

/**
 * Narrows every top-level operation to the tenant: `where` gains it, `data` has it set, and what could leave the
 * tenant is refused. Nested writes are not reached by an extension; composite foreign keys, the trigger
 * `forbid_tenant_change` and a check against nested `connect` and `set` close that door.
 */
export function boundToTenant(prisma: PrismaClient, tenantId: string): TenantClient {
  const bound = prisma.$extends({
    query: {
      $allModels: {
        $allOperations({ model, operation, args, query }) {
          const narrow = NARROWED[operation]
          // An operation that a later Prisma brings is refused until somebody has said how it is narrowed.
          if (narrow === undefined) throw new Error(`${model}.${operation} is not known to stay within one tenant.`)
          const own: Args = { [model === 'Tenant' ? 'id' : 'tenantId']: tenantId }
          return query(narrow((args ?? {}) as Args, own) as typeof args)
        },
      },
    },
  })
  return bound as unknown as TenantClient
}

const within = (args: Args, own: Args): Args => {
  // A cursor is looked up by itself: another tenant's row would decide where the page begins.
  if (args['cursor'] !== undefined && !names(args['cursor'] as Args, own)) {
    throw new Error('The `cursor` of a tenant-bound list must hold the tenant.')
  }
  return { ...args, where: { ...(args['where'] as Args | undefined), ...own } }
}

/** The unique key, simple or compound, is one of our own rows'. */
const names = (key: Args, own: Args): boolean =>
  Object.entries(own).every(
    ([field, value]) =>
      key[field] === value || Object.values(key).some((part) => (part as Args | null)?.[field] === value),
  )

const creating = (args: Args, own: Args): Args => {
  const data = args['data'] as Args | Args[]
  return { ...args, data: Array.isArray(data) ? data.map((row) => ({ ...row, ...own })) : { ...data, ...own } }
}

const updating = (args: Args, own: Args): Args => {
  refuseMove(args['data'] as Args, own)
  return within(args, own)
}

const upserting = (args: Args, own: Args): Args => {
  refuseMove(args['update'] as Args, own)
  return { ...within(args, own), create: { ...(args['create'] as Args), ...own } }
}

function refuseMove(data: Args, own: Args): void {
  for (const key of [...Object.keys(own), 'tenant']) {
    if (key in data) throw new Error(`A row never changes its tenant: leave \`${key}\` out of the update.`)
  }
}

const NARROWED: Readonly<Record<string, (args: Args, own: Args) => Args>> = {
  aggregate: within,
  count: within,
  create: creating,
  createMany: creating,
  createManyAndReturn: creating,
  delete: within,
  deleteMany: within,
  findFirst: within,
  findFirstOrThrow: within,
  findMany: within,
  findUnique: within,
  findUniqueOrThrow: within,
  groupBy: within,
  update: updating,
  updateMany: updating,
  updateManyAndReturn: updating,
  upsert: upserting,
}
