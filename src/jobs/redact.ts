import { inspect } from 'node:util'
import { withoutSecrets } from '../errors/index.ts'

/** Longest safe message kept with an attempt, in characters. */
const LONGEST_MESSAGE = 2_000
/** Longest stack kept for operators, in characters. */
const LONGEST_STACK = 8_000

/** A text that PostgreSQL can store (no NUL), without secrets, and not too long to show. */
export const safeMessage = (text: string): string => cut(safe(text), LONGEST_MESSAGE)

/**
 * An error's stack and causes for operators. Secrets, addresses of people and long numbers are taken out (J36): stacks
 * of other people's libraries hold more than one would think.
 */
export function redactedStack(error: unknown): string | null {
  if (!(error instanceof Error)) return error == null ? null : stackText(inspect(error))
  const parts: string[] = []
  for (let cause: unknown = error; cause instanceof Error && parts.length < 5; cause = cause.cause)
    parts.push(cause.stack ?? `${cause.name}: ${cause.message}`)
  return stackText(parts.join('\nCaused by: '))
}

const safe = (text: string): string => withoutSecrets(text.replaceAll('\0', ''))

// A stack is nobody's words: what may be a person's goes as well.
const stackText = (stack: string): string =>
  cut(
    safe(stack)
      .replace(/[\w.+-]+@[\w-]+(\.[\w-]+)+/g, '[e-mail]')
      .replace(/\b\d{9,}\b/g, '[number]'),
    LONGEST_STACK,
  )

const cut = (text: string, most: number): string => (text.length <= most ? text : `${text.slice(0, most - 1)}…`)
