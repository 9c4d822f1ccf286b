import type { Operator, Viewer } from '../viewer/index.ts'
import type { Logger } from './log.ts'

/** One operation as it comes in, whatever carried it: what the schema's context is made from. */
export interface Incoming {
  /** Null in an operator's token without a tenant, and for introspection without a token. */
  readonly viewer: Viewer | null
  readonly operator: Operator | null
  readonly correlationId: string
  /** Aborted when the client is gone and when the deadline has passed. Of a subscription: when it ends. */
  readonly signal: AbortSignal
  /** Writes the correlation id on every line. */
  readonly log: Logger
}
