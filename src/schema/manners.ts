import SchemaBuilder, { BasePlugin, isThenable, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core'
import type { GraphQLFieldResolver } from 'graphql'
import { NotFoundError } from '../errors/index.ts'
import type { ApiContext } from './context.ts'
import { apiError, asApiError } from './errors/index.ts'
import { mustBeAllowed } from '../viewer/index.ts'

const PLUGIN = 'manners'

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      manners: MannersPlugin<Types>
    }
  }
}

type FieldResolver = GraphQLFieldResolver<unknown, object, object>

/**
 * What holds for every field alike, so that no resolver has to remember it: a root field is for known callers
 * only and an operators' field for operators, the cursor of a query is taken before the query's first read, and whatever a domain refuses leaves with
 * a code. Wraps outside the other plugins (and outside their decoding of arguments), so nothing runs before it.
 */
export class MannersPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override wrapArgMappers(
    resolver: GraphQLFieldResolver<unknown, Types['Context'], object> | undefined,
    field: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> | undefined {
    if (resolver === undefined) return undefined
    if (!ROOTS.has(field.kind)) return coded(resolver as FieldResolver, field)
    const isQuery = field.kind === 'Query'
    const guarded: FieldResolver = (parent, args, context, info) => {
      const { viewer, operator, eventCursor } = context as ApiContext
      if (viewer === null && operator === null) throw unauthenticated()
      mustBeOperated(field, context as ApiContext)
      if (!isQuery || !selectsCursor(info)) return resolver(parent, args, context, info)
      return eventCursor().then(() => resolver(parent, args, context, info))
    }
    return coded(guarded, field)
  }
}

const ROOTS: ReadonlySet<string> = new Set(['Query', 'Mutation', 'Subscription'])

/**
 * Marks a root field as the operators', with the permission it needs: whoever has it not is refused before anything
 * else of the field is looked at.
 */
export const forOperators = (permission: 'jobs.read' | 'jobs.operate') => ({ extensions: { [OPERATED]: permission } })

const OPERATED = 'operated'

/** @throws FORBIDDEN, ForbiddenError */
function mustBeOperated(field: { readonly extensions?: unknown }, context: ApiContext): void {
  const permission = (field.extensions as Readonly<Record<string, string>> | undefined)?.[OPERATED]
  if (permission !== undefined) mustBeAllowed(context.operatorCall().operator, permission)
}

const unauthenticated = () =>
  apiError('UNAUTHENTICATED', 'This needs a token. Send one in the header "Authorization: Bearer <token>".')

/** Also what does not exist becomes what the schema says of it: null where a query may answer null. */
function coded(resolver: FieldResolver, field: { kind: string; type: { nullable?: unknown } }): FieldResolver {
  const mayBeAbsent = field.kind === 'Query' && field.type.nullable === true
  const failed = (error: unknown) => {
    if (mayBeAbsent && error instanceof NotFoundError) return null
    throw asApiError(error) ?? error
  }
  return (parent, args, context, info) => {
    try {
      const result: unknown = resolver(parent, args, context, info)
      // Prisma's promises are thenables of their own class.
      return isThenable(result) ? Promise.resolve(result).catch(failed) : result
    } catch (error) {
      return failed(error)
    }
  }
}

/** Whether this query also asks for `Query.eventCursor`, at its top level, in whatever fragment. */
function selectsCursor(info: Parameters<FieldResolver>[3]): boolean {
  const known = cursorSelected.get(info.operation)
  if (known !== undefined) return known
  const seen = new Set<string>()
  const pending = [...info.operation.selectionSet.selections]
  let found = false
  for (let selection = pending.pop(); selection !== undefined && !found; selection = pending.pop()) {
    if (selection.kind === 'Field') found = selection.name.value === 'eventCursor'
    else if (selection.kind === 'InlineFragment') pending.push(...selection.selectionSet.selections)
    else if (!seen.has(selection.name.value)) {
      seen.add(selection.name.value)
      pending.push(...(info.fragments[selection.name.value]?.selectionSet.selections ?? []))
    }
  }
  cursorSelected.set(info.operation, found)
  return found
}

const cursorSelected = new WeakMap<object, boolean>()

SchemaBuilder.registerPlugin(PLUGIN, MannersPlugin)

export default PLUGIN
