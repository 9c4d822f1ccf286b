import {
  GraphQLError,
  Kind,
  type DocumentNode,
  type FragmentDefinitionNode,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql'

/** What one operation may ask for at most. Variables play no part: cost with real variables is the schema's. */
export interface DocumentLimits {
  readonly tokens: number
  readonly depth: number
  readonly aliases: number
  readonly rootFields: number
  readonly directives: number
  /** Fields after every fragment has been written out: what execution and validation really walk. */
  readonly fields: number
}

export type Limit = keyof DocumentLimits

/** Size of an operation with its fragments written out. */
type Size = Record<Exclude<Limit, 'tokens'>, number>

/**
 * The first limit that an operation of the document breaks; null when all keep to them. Runs before validation,
 * since validation is what a hostile document makes slow: fragments that spread each other twice double at every
 * level, so each is measured once and its size is added wherever it is spread. A fragment that reaches itself
 * counts as endless here; validation has the better words for it, so it is left to that.
 */
export function brokenLimit(
  document: DocumentNode,
  limits: DocumentLimits,
): { readonly limit: Limit; readonly allowed: number } | null {
  const fragments = new Map<string, FragmentDefinitionNode>()
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition)
  }
  const measure = measuring(fragments)
  for (const definition of document.definitions) {
    // Also of fragments that no operation spreads: validation walks those too.
    if (definition.kind !== Kind.OPERATION_DEFINITION && definition.kind !== Kind.FRAGMENT_DEFINITION) continue
    const size = measure(definition)
    for (const limit of definition.kind === Kind.OPERATION_DEFINITION ? CHECKED : CHECKED_IN_FRAGMENT) {
      if (size[limit] > limits[limit]) return { limit, allowed: limits[limit] }
    }
  }
  return null
}

// Depth and root fields mean nothing before a fragment is spread somewhere.
const CHECKED_IN_FRAGMENT = ['aliases', 'directives', 'fields'] as const
const CHECKED = ['depth', 'rootFields', ...CHECKED_IN_FRAGMENT] as const

/** The refusal as the client sees it. */
export const limitError = (broken: { limit: Limit; allowed: number }): GraphQLError =>
  new GraphQLError(`The operation is too large: ${SENTENCES[broken.limit](broken.allowed)} Split it.`, {
    extensions: { code: 'QUERY_TOO_COMPLEX' },
  })

const SENTENCES: Record<Limit, (allowed: number) => string> = {
  tokens: (n) => `its text may have ${n} tokens.`,
  depth: (n) => `fields may be nested ${n} deep.`,
  aliases: (n) => `it may use ${n} aliases.`,
  rootFields: (n) => `it may have ${n} fields at the root.`,
  directives: (n) => `it may use ${n} directives.`,
  fields: (n) => `it may have ${n} fields, each fragment counted where it is spread.`,
}

// Introspection nests deeper than data does (a type of a type of …); graphql-js has its own rule against lists
// in lists there, and the field limit below holds for it too. Only the two meta fields at the root of an
// operation are meant: a fragment or a field elsewhere that is called so gets no exemption.
const INTROSPECTION = new Set(['__schema', '__type'])

function measuring(fragments: ReadonlyMap<string, FragmentDefinitionNode>) {
  const known = new Map<string, Size>()
  const open = new Set<string>()

  function ofFragment(name: string): Size {
    const size = known.get(name)
    if (size !== undefined) return size
    const fragment = fragments.get(name)
    if (fragment === undefined || open.has(name)) return NOTHING
    open.add(name)
    const measured = ofSelections(fragment.selectionSet, false)
    measured.directives += fragment.directives?.length ?? 0
    open.delete(name)
    known.set(name, measured)
    return measured
  }

  function ofSelections(set: SelectionSetNode, atRoot: boolean): Size {
    const total: Size = { ...NOTHING }
    for (const selection of set.selections) {
      total.directives += selection.directives?.length ?? 0
      if (selection.kind === Kind.FIELD) {
        total.fields += 1
        total.rootFields += 1
        if (selection.alias !== undefined) total.aliases += 1
        const inner = selection.selectionSet === undefined ? NOTHING : ofSelections(selection.selectionSet, false)
        const exempt = atRoot && INTROSPECTION.has(selection.name.value)
        total.depth = Math.max(total.depth, exempt ? 1 : inner.depth + 1)
        add(total, inner)
      } else {
        const inner =
          selection.kind === Kind.INLINE_FRAGMENT
            ? ofSelections(selection.selectionSet, atRoot)
            : ofFragment(selection.name.value)
        total.depth = Math.max(total.depth, inner.depth)
        total.rootFields += inner.rootFields
        add(total, inner)
      }
    }
    return total
  }

  return (definition: OperationDefinitionNode | FragmentDefinitionNode): Size => {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) return ofFragment(definition.name.value)
    const size = ofSelections(definition.selectionSet, true)
    size.directives += definition.directives?.length ?? 0
    for (const variable of definition.variableDefinitions ?? []) size.directives += variable.directives?.length ?? 0
    return size
  }
}

const NOTHING: Readonly<Size> = { depth: 0, aliases: 0, rootFields: 0, directives: 0, fields: 0 }

function add(total: Size, inner: Size): void {
  total.aliases += inner.aliases
  total.directives += inner.directives
  total.fields += inner.fields
}
