import { visit, type DocumentNode } from 'graphql'
import { isStorable } from '../database/index.ts'

// graphql-js coerces input types that hold themselves by recursion: without a limit a small body exhausts the stack.
const DEEPEST = 40

const TOO_DEEP = `Variables may be nested ${DEEPEST} levels deep.`
const UNSTORABLE = 'A text may hold neither the character NUL nor half of a surrogate pair.'

/**
 * What keeps variables from being used whatever the operation is; null when nothing does. Here, once for all
 * transports and fields: PostgreSQL refuses such texts in the middle of a transaction, and where it does not get to
 * see them (half a pair becomes U+FFFD on the wire) two different keys would be one.
 */
export function variablesProblem(variables: unknown, levels = DEEPEST): string | null {
  if (typeof variables === 'string') return isStorable(variables) ? null : UNSTORABLE
  if (typeof variables !== 'object' || variables === null) return null
  if (levels === 0) return TOO_DEEP
  for (const [name, inner] of Object.entries(variables)) {
    const problem = (isStorable(name) ? null : UNSTORABLE) ?? variablesProblem(inner, levels - 1)
    if (problem !== null) return problem
  }
  return null
}

/** As `variablesProblem`, for texts that stand in the document itself. */
export function documentProblem(document: DocumentNode): string | null {
  let problem: string | null = null
  visit(document, {
    StringValue({ value }) {
      if (!isStorable(value)) problem = UNSTORABLE
    },
  })
  return problem
}
