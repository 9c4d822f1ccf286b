import { inspect } from 'node:util'

/** Longest safe message kept with an attempt, in characters. */
const LONGEST_MESSAGE = 2_000
/** Longest stack kept for operators, in characters. */
const LONGEST_STACK = 8_000

/** A text that PostgreSQL can store (no NUL), without what looks like a credential, and not too long to show. */
export const safeMessage = (text: string): string => cut(without(CREDENTIALS, text), LONGEST_MESSAGE)

/**
 * An error's stack and causes for operators. What looks like a credential, a connection string or an address of
 * a person is taken out (J36): stacks of other people's libraries hold more than one would think.
 */
export function redactedStack(error: unknown): string | null {
  if (!(error instanceof Error)) return error == null ? null : cut(without(EVERYTHING, inspect(error)), LONGEST_STACK)
  const parts: string[] = []
  for (let cause: unknown = error; cause instanceof Error && parts.length < 5; cause = cause.cause)
    parts.push(cause.stack ?? `${cause.name}: ${cause.message}`)
  return cut(without(EVERYTHING, parts.join('\nCaused by: ')), LONGEST_STACK)
}

type Patterns = readonly (readonly [RegExp, string])[]

function without(patterns: Patterns, text: string): string {
  return patterns.reduce((clean, [pattern, instead]) => clean.replace(pattern, instead), text.replaceAll('\0', ''))
}

const CREDENTIALS: Patterns = [
  [/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@]+@/gi, '$1[redacted]@'],
  [/\beyJ[\w-]+\.[\w-]+\.[\w-]*/g, '[token]'],
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, '$1 [redacted]'],
  [/\b(password|passwd|secret|token|api[-_]?key)\b(["']?\s*[:=]\s*)("[^"]*"|'[^']*'|[^\s,;}]+)/gi, '$1$2[redacted]'],
]

/** A stack is nobody's words: what may be a person's goes as well. */
const EVERYTHING: Patterns = [...CREDENTIALS, [/[\w.+-]+@[\w-]+(\.[\w-]+)+/g, '[e-mail]'], [/\b\d{9,}\b/g, '[number]']]

const cut = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most - 1)}…`)
