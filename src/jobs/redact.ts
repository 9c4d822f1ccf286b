import { inspect } from 'node:util'

/** Longest safe message kept with an attempt, in characters. */
const LONGEST_MESSAGE = 2_000
/** Longest stack kept for operators, in characters. */
const LONGEST_STACK = 8_000

/** A text that PostgreSQL can store (no NUL) and that is not too long to show. */
export const safeMessage = (text: string): string => cut(text.replaceAll('\0', ''), LONGEST_MESSAGE)

/**
 * An error's stack and causes for operators. What looks like a credential, a connection string or an address of
 * a person is taken out (J36): stacks of other people's libraries hold more than one would think.
 */
export function redactedStack(error: unknown): string | null {
  if (!(error instanceof Error)) return error == null ? null : cut(redact(inspect(error)), LONGEST_STACK)
  const parts: string[] = []
  for (let cause: unknown = error; cause instanceof Error && parts.length < 5; cause = cause.cause)
    parts.push(cause.stack ?? `${cause.name}: ${cause.message}`)
  return cut(redact(parts.join('\nCaused by: ')), LONGEST_STACK)
}

function redact(text: string): string {
  return PATTERNS.reduce((clean, [pattern, instead]) => clean.replace(pattern, instead), text.replaceAll('\0', ''))
}

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@]+@/gi, '$1[redacted]@'],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, '[token]'],
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, '$1 [redacted]'],
  [/\b(password|passwd|secret|token|api[-_]?key)\b(["']?\s*[:=]\s*)("[^"]*"|'[^']*'|[^\s,;}]+)/gi, '$1$2[redacted]'],
  [/[\w.+-]+@[\w-]+(\.[\w-]+)+/g, '[e-mail]'],
  [/\b\d{9,}\b/g, '[number]'],
]

const cut = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most - 1)}…`)
