import type { Database } from '../../database/index.ts'
import type { JobLogger } from '../job-logger.ts'
import type { JobRegistry } from '../registry.ts'
import type { Permits } from './permits.ts'

/** Something that happened in an engine, for tests and measurements: they wait for these instead of sleeping. */
export type EngineSignal =
  | { readonly kind: 'CLAIMED'; readonly jobs: number }
  | { readonly kind: 'BEGAN'; readonly jobId: string; readonly attempt: number }
  | { readonly kind: 'ENDED'; readonly jobId: string; readonly attempt: number; readonly status: string }
  | { readonly kind: 'SUPERSEDED'; readonly jobId: string; readonly attempt: number }
  | { readonly kind: 'RESCUED'; readonly jobId: string; readonly status: string }
  | { readonly kind: 'UNKNOWN_TYPES'; readonly types: readonly string[] }
  | { readonly kind: 'SETTLE_TROUBLE'; readonly jobs: number }
  | { readonly kind: 'FIRED'; readonly schedule: string; readonly slot: Date; readonly jobId: string }
  | { readonly kind: 'ISOLATING' }
  | { readonly kind: 'IDLE' }

/** What the parts of one engine share. */
export interface EngineParts {
  readonly database: Database
  readonly registry: JobRegistry
  readonly workerId: string
  readonly logger: JobLogger
  /** For every transaction in which domain code runs. */
  readonly transactions: Permits
  /** Something was committed that others may want to see. */
  readonly onCommitted: () => void
  readonly signal: ((signal: EngineSignal) => void) | null
}
