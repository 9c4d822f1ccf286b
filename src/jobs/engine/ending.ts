import { z } from 'zod'
import { isLockTimeout, isSerializationConflict, isUnreachable, sqlState } from '../../database/index.ts'
import { dataWithoutSecrets, Failure, UserError } from '../../errors/index.ts'
import type { JobResult } from '../definition.ts'
import { PayloadError } from '../payload.ts'
import { redactedStack, safeMessage } from '../redact.ts'
import type { EndingRow } from '../sql/settle.ts'

/** How an attempt ended, before anybody knows what that makes of the job. */
export type Ending = Omit<EndingRow, 'id' | 'claimEpoch' | 'ranMs'>

const plain = (kind: Ending['kind']): Ending => ({
  kind,
  delayMs: null,
  failureClass: null,
  code: null,
  message: null,
  stack: null,
  reason: null,
  output: null,
})

export const SUCCEEDED: Ending = plain('SUCCEEDED')

/** Claimed but never begun: the job goes back as if nothing had happened. */
export const NOT_BEGUN: Ending = { ...plain('BACK'), reason: 'job.not_begun' }

/** The outside service is known to be away: due again when it may be tried, no attempt spent. */
export const breakerOpen = (dependency: string, delayMs: number): Ending => ({
  ...plain('BACK'),
  delayMs,
  reason: 'job.breaker_open',
  message: safeMessage(dependency),
})

/** Begun, but the process stops: no attempt is spent (pain 43). */
export const INTERRUPTED: Ending = { ...plain('BACK'), reason: 'job.interrupted' }

/** Stopped because somebody cancelled it; the settling statement sees the request and makes it CANCELLED. */
export const CANCELLED: Ending = plain('CANCELLED')

export const timedOut = (timeoutMs: number): Ending =>
  failure('RETRY', 'TIMEOUT', 'job.timeout', `The attempt took longer than its ${timeoutMs} ms.`)

export function endingOf(result: JobResult): Ending {
  if (result?.kind === 'SUCCEEDED' && result.output === undefined) return SUCCEEDED
  const problem = problemOf(result)
  if (problem !== null) return failure('RETRY', 'TRANSIENT', 'job.no_result', `The handler's answer ${problem}.`)
  switch (result.kind) {
    case 'SUCCEEDED':
      return { ...SUCCEEDED, output: dataWithoutSecrets(result.output!) as Ending['output'] }
    case 'NOT_APPLICABLE':
    case 'CANCELLED':
      return { ...CANCELLED, reason: safeMessage(result.reason) }
    case 'POSTPONED':
      return { ...plain('BACK'), delayMs: Math.max(0, result.delayMs), reason: safeMessage(result.reason) }
    case 'RETRY_AFTER':
      return { ...failure('RETRY', 'TRANSIENT', result.code, result.message), delayMs: Math.max(0, result.delayMs) }
    case 'FAILED':
      return failure('FAILED', 'PERMANENT', result.code, result.message)
  }
}

/**
 * Why an answer cannot be written down; compiled JavaScript can return anything, and an ending that the database
 * refuses would be tried again for ever, with the job in PROCESSING.
 */
function problemOf(result: JobResult): string | null {
  const { success } = RESULT.safeParse(result)
  if (!success) return 'is not a result'
  if (result.kind !== 'SUCCEEDED') return null
  try {
    return Buffer.byteLength(JSON.stringify(result.output)) > LARGEST_OUTPUT_BYTES
      ? `has an output of more than ${LARGEST_OUTPUT_BYTES} bytes`
      : null
  } catch {
    return 'has an output that is not JSON'
  }
}

const LARGEST_OUTPUT_BYTES = 64 * 1024
const LONGEST_WAIT_MS = 10 * 366 * 86_400_000

const code = z.string().min(1).max(200)
// Less than nothing is what is left until a moment that has passed.
const delayMs = z.number().min(-LONGEST_WAIT_MS).max(LONGEST_WAIT_MS)
const RESULT = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('SUCCEEDED'), output: z.record(z.string(), z.unknown()) }),
  z.object({ kind: z.enum(['NOT_APPLICABLE', 'CANCELLED']), reason: z.string() }),
  z.object({ kind: z.literal('POSTPONED'), delayMs, reason: z.string() }),
  z.object({ kind: z.literal('RETRY_AFTER'), delayMs, code, message: z.string() }),
  z.object({ kind: z.literal('FAILED'), code, message: z.string() }),
])

/**
 * The classification of what a handler throws (J19, seed 18.8): functional errors, invalid payloads and missing
 * rights are final; what the database or the network does for a moment is tried again; the unknown too. Never
 * throws itself, whatever stands in the error's fields.
 */
export function endingOfThrown(error: unknown): Ending {
  try {
    return classified(error)
  } catch {
    return UNEXPECTED
  }
}

function classified(error: unknown): Ending {
  const stack = redactedStack(error)
  if (error instanceof Failure) {
    const kind =
      error.failureClass === 'PERMANENT' ? 'FAILED' : error.failureClass === 'CANCELLED' ? 'CANCELLED' : 'RETRY'
    const wait = delayMs.safeParse(error.retryAfterMs)
    return {
      ...failure(kind, error.failureClass, error.code, error.message),
      delayMs: wait.success ? Math.max(0, wait.data) : null,
      stack,
    }
  }
  if (error instanceof PayloadError)
    return { ...failure('FAILED', 'PERMANENT', 'job.payload_invalid', error.message), stack }
  if (error instanceof UserError) return { ...failure('FAILED', 'PERMANENT', error.code, error.message), stack }
  for (const [applies, code, message] of TRANSIENT)
    if (applies(error)) return { ...failure('RETRY', 'TRANSIENT', code, message), stack }
  return { ...UNEXPECTED, stack }
}

const TRANSIENT: readonly (readonly [(error: unknown) => boolean, string, string])[] = [
  [isLockTimeout, 'job.lock_timeout', 'A row that is needed was locked by somebody else for too long.'],
  [isSerializationConflict, 'job.conflict', 'Other transactions were in the way several times.'],
  [(error) => sqlState(error) === '57014', 'job.statement_timeout', 'The database took too long to answer.'],
  [isUnreachable, 'job.connection_lost', 'The connection to the database was lost.'],
]

const UNEXPECTED = failure('RETRY', 'TRANSIENT', 'job.unexpected', 'The handler failed unexpectedly.')

function failure(kind: Ending['kind'], failureClass: string, code: string, message: string): Ending {
  return { ...plain(kind), failureClass, code, message: safeMessage(message) }
}
