import type { Database, TenantClient } from '../database/index.ts'
import type { Call } from '../domain/call.ts'
import type { Drafts } from '../domain/organisation/index.ts'
import { currentCursor, type CursorCodec, type EventFeed } from '../events/index.ts'
import { INSTALLATION } from '../jobs/index.ts'
import { mustBeAllowed, type OnTenantCreated, type Operator, type OperatorCall, type Viewer } from '../viewer/index.ts'
import { apiError } from './errors/index.ts'
import type { OperatedJobs } from './jobs/operated-jobs.ts'

/** The part of a logger that resolvers use; pino's has it. */
export interface ApiLog {
  warn(details: object, message: string): void
  error(details: object, message: string): void
}

/** What the server puts into every context: who asks, and the parts of the process. */
export interface ApiContextParts {
  /** Null without a token, or with an operator's token that names no tenant. */
  readonly viewer: Viewer | null
  /** Null unless the token is an operator's. */
  readonly operator: Operator | null
  readonly correlationId: string
  readonly signal: AbortSignal
  readonly log: ApiLog
  readonly database: Database
  readonly feed: EventFeed
  readonly cursors: CursorCodec
  /** The evaluators and actions that this process composes. */
  readonly drafts: Drafts
  /** What the domains do in the transaction that makes a tenant. */
  readonly tenantHooks: readonly OnTenantCreated[]
  /** The job engine as operators see and follow it. */
  readonly jobs: OperatedJobs
}

/** What a resolver gets: made anew for every operation and for every event of a subscription (R39). */
export interface ApiContext extends ApiContextParts {
  /** @throws UNAUTHENTICATED without a tenant in the token */
  readonly call: () => Call
  /** The tenant's rows, and no others, for reading. @throws UNAUTHENTICATED without a tenant in the token */
  readonly prisma: () => TenantClient
  /** `prisma`, for who may read such rows. @throws FORBIDDEN */
  readonly rows: (permission: ReadPermission) => TenantClient
  /** @throws FORBIDDEN when the token is not an operator's */
  readonly operatorCall: () => OperatorCall
  /** The place in the log, of the tenant or else of the installation, at the first call; later calls get the same. */
  readonly eventCursor: () => Promise<string>
  /** One thing per context: loaders above all, so that nothing read outlives the operation. */
  readonly once: <T>(key: object, make: (context: ApiContext) => T) => T
}

export type ReadPermission = 'orgmodel.read' | 'people.read'

/** Gives the parts what resolvers expect of a context. Nothing is read before a resolver asks. */
export async function makeContext(parts: ApiContextParts): Promise<ApiContext> {
  const { viewer } = parts
  const tenantClient = viewer === null ? null : await parts.database.forTenant(viewer.tenantId)
  const made = new Map<object, unknown>()
  let cursor: Promise<string> | null = null
  const call = (): Call => {
    if (viewer === null) throw noTenant()
    return { viewer, database: parts.database }
  }
  const prisma = (): TenantClient => {
    if (tenantClient === null) throw noTenant()
    return tenantClient
  }
  const context: ApiContext = {
    ...parts,
    call,
    prisma,
    rows: (permission) => {
      mustBeAllowed(call().viewer, permission)
      return prisma()
    },
    operatorCall: () => {
      const { operator, database } = parts
      if (operator === null) throw apiError('FORBIDDEN', 'This is for operators of the installation.')
      return { operator, database }
    },
    eventCursor: () => {
      if (viewer === null && parts.operator === null) throw noTenant()
      return (cursor ??= currentCursor(parts.database, viewer?.tenantId ?? INSTALLATION, parts.cursors))
    },
    once: (key, make) => {
      if (!made.has(key)) made.set(key, make(context))
      return made.get(key) as ReturnType<typeof make>
    },
  }
  return context
}

const noTenant = () =>
  apiError('UNAUTHENTICATED', 'This needs a token that names a tenant; yours is an operator’s without one.')
