import { pino, type DestinationStream, type Logger } from 'pino'
import { withoutSecrets } from '../errors/index.ts'

export type { Logger } from 'pino'

/**
 * The process's log: one JSON object per line. What is logged is chosen by hand at every call (codes, kinds,
 * durations, ids): never a request's headers, variables or body, and no error object but through `cause`, which
 * keeps name, code and stack and drops everything that a driver may have hung on it, such as a row's values.
 */
export function makeLog(options: { level: string; destination?: DestinationStream }): Logger {
  const settings = {
    level: options.level,
    base: { pid: process.pid },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (level: string) => ({ level }) },
    serializers: { err: causeOf },
  }
  return options.destination === undefined ? pino(settings) : pino(settings, options.destination)
}

interface Cause {
  readonly name: string
  readonly message: string
  readonly code?: string | undefined
  readonly stack?: string | undefined
  readonly cause?: Cause | undefined
}

const DEEPEST_CAUSE = 5

/** An error as the log shows it. */
export function causeOf(error: unknown, depth = 0): Cause | undefined {
  if (error === undefined || error === null || depth > DEEPEST_CAUSE) return undefined
  if (!(error instanceof Error)) return { name: typeof error, message: '[not an Error]' }
  const code: unknown = (error as { code?: unknown }).code
  return {
    name: error.name,
    message: redact(error.message),
    code: typeof code === 'string' ? code : undefined,
    stack: error.stack === undefined ? undefined : redact(error.stack),
    cause: causeOf(error.cause, depth + 1),
  }
}

const LONGEST = 8_000

// Besides secrets: mail addresses, and the values that PostgreSQL quotes in a DETAIL.
const PRIVATE: readonly [RegExp, string][] = [
  [/[\w.+-]+@[\w-]+(\.[\w-]+)+/g, '[address]'],
  [/(Key \([^)]*\)=)\([^)]*\)/g, '$1([values])'],
  [/(contains )\((.*)\)/g, '$1([values])'],
]

/** Free text of an error without what must not be written down, at most 8,000 characters. */
export const redact = (text: string): string =>
  PRIVATE.reduce(
    (kept, [pattern, replacement]) => kept.replace(pattern, replacement),
    withoutSecrets(text.slice(0, LONGEST)),
  )
