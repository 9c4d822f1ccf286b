import type { Database } from '../database/index.ts'
import type { Call } from '../domain/call.ts'
import type { OnTenantCreated, Operator, OperatorCall, Viewer } from '../viewer/index.ts'
import { apiError } from './errors/index.ts'

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
  /** What the domains do in the transaction that makes a tenant. */
  readonly tenantHooks: readonly OnTenantCreated[]
}

/** What a resolver gets: made anew for every operation and for every event of a subscription (R39). */
export interface ApiContext extends ApiContextParts {
  /** @throws UNAUTHENTICATED without a tenant in the token */
  readonly call: () => Call
  /** @throws FORBIDDEN when the token is not an operator's */
  readonly operatorCall: () => OperatorCall
  /** The head of the tenant's log; the first call of a query takes it and the others share it. */
  readonly eventCursor: () => Promise<string>
  /** One thing per context: loaders above all, so that nothing read outlives the operation. */
  readonly once: <T>(key: object, make: (context: ApiContext) => T) => T
}
