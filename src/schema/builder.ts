import SchemaBuilder from '@pothos/core'
import ComplexityPlugin from '@pothos/plugin-complexity'
import ErrorsPlugin from '@pothos/plugin-errors'
import PrismaPlugin, { type PrismaClient } from '@pothos/plugin-prisma'
import RelayPlugin, { resolveNodes } from '@pothos/plugin-relay'
import {
  getNamedType,
  getNullableType,
  isLeafType,
  isListType,
  isObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
} from 'graphql'
import { getDatamodel, type PrismaTypes } from '../database/index.ts'
import type { ApiContext } from './context.ts'
import { apiError } from './errors/index.ts'
import { encodeId, readId, type IdType } from './id.ts'
import MannersPlugin from './manners.ts'
import type { FilterInput } from './organisation/persona-filter.ts'
import type { JsonValue } from './scalars/json.ts'

export interface SchemaTypes {
  Context: ApiContext
  PrismaTypes: PrismaTypes
  DefaultFieldNullability: false
  DefaultEdgesNullability: false
  DefaultNodeNullability: false
  Scalars: {
    ID: { Input: string; Output: string }
    DateTime: { Input: Date; Output: Date }
    Date: { Input: string; Output: string | Date }
    UUID: { Input: string; Output: string }
    JSON: { Input: JsonValue; Output: unknown }
    JSONObject: { Input: Record<string, JsonValue>; Output: Readonly<Record<string, unknown>> }
    BigInt: { Input: bigint; Output: bigint }
    PersonaFilter: { Input: never; Output: FilterInput }
    EventCursor: { Input: string; Output: string }
  }
}

/** Most that one operation may cost, counted with its real variables before anything is read (docs/api.md). */
export const MOST_COMPLEXITY = 1_000
export const MOST_DEPTH = 12

/** A thing costs a point, what it shows of itself does not; a list counts as ten unless its field says otherwise. */
function costOf(type: GraphQLOutputType): number | { field: number; multiplier: number } {
  if (isLeafType(getNamedType(type))) return 0
  return isListType(getNullableType(type)) ? { field: 1, multiplier: 10 } : 1
}

export const tooComplex = (complexity: number, depth: number) =>
  apiError(
    'QUERY_TOO_COMPLEX',
    `This operation costs ${Math.ceil(complexity)} of ${MOST_COMPLEXITY} points and is ${depth} of ${MOST_DEPTH} levels deep. ` +
      'Ask for fewer fields or smaller pages, or split it.',
  )

export const builder = new SchemaBuilder<SchemaTypes>({
  // The first is the outermost: nothing runs, and nothing fails without a code, before `manners` has looked.
  plugins: [MannersPlugin, ComplexityPlugin, ErrorsPlugin, RelayPlugin, PrismaPlugin],
  defaultFieldNullability: false,
  errors: { defaultTypes: [], directResult: true },
  prisma: {
    // Bound to the request's tenant: whatever a resolver asks for, another tenant's row is out of reach.
    client: (context) => context.prisma() as unknown as PrismaClient,
    dmmf: getDatamodel(),
    exposeDescriptions: false,
    onUnusedQuery: null,
  },
  complexity: {
    fieldComplexity: (_args, _context, field) => costOf(field.type),
    limit: { complexity: MOST_COMPLEXITY, depth: MOST_DEPTH },
    complexityError: (_kind, { complexity, depth }) => tooComplex(complexity, depth),
  },
  relay: {
    encodeGlobalID: (type, uuid) => encodeId(type as IdType, String(uuid)),
    decodeGlobalID: (id) => {
      const read = readId(id)
      if (read === null) throw apiError('BAD_USER_INPUT', '"id" is not an id of this API.', { inputPath: ['id'] })
      return { typename: read.type, id: read.uuid }
    },
    cursorType: 'String',
    idFieldOptions: { description: 'Opaque id, the same for ever. Pass it back as it is; never take it apart.' },
    nodeTypeOptions: { description: 'Anything that has an id of its own and can be fetched by it.' },
    nodeQueryOptions: {
      description: 'The thing with this id; null when it does not exist for the caller.',
      args: { id: { description: 'Id of anything that is a Node.' } },
      resolve: (_root, { id }, context, info): Promise<unknown> => nodeOf(context, info, id),
    },
    nodesQueryOptions: {
      description: 'The things with these ids, in the order asked; null for each that does not exist for the caller.',
      args: { ids: { description: 'At most 100 ids.' } },
      complexity: (args: { ids: readonly unknown[] }) => ({ field: 1, multiplier: args.ids.length }),
      resolve: (_root, { ids }, context, info): Promise<unknown>[] => {
        if (ids.length > 100) throw apiError('BAD_USER_INPUT', '"ids" takes at most 100 ids.', { inputPath: ['ids'] })
        return ids.map((id) => nodeOf(context, info, id))
      },
    },
    pageInfoTypeOptions: { description: 'Where a page of a list stands in the whole.' },
    hasNextPageFieldOptions: { description: 'There is more after this page.' },
    hasPreviousPageFieldOptions: { description: 'There is more before this page.' },
    startCursorFieldOptions: { description: 'Cursor of the first item; null when the page is empty.' },
    endCursorFieldOptions: { description: 'Cursor of the last item; null when the page is empty.' },
  },
})

/**
 * One node by itself, so that one that is missing takes no other with it. Prisma reads those of one type at once.
 * What is not there is null, and so is what has an id but is no Node: a tenant.
 */
async function nodeOf(
  context: ApiContext,
  info: GraphQLResolveInfo,
  id: { readonly typename: string; readonly id: string },
): Promise<unknown> {
  const type = info.schema.getType(id.typename)
  if (!isObjectType(type) || !type.getInterfaces().some(({ name }) => name === 'Node')) return null
  try {
    const [node] = await resolveNodes(builder, context, info, [id])
    return await node
  } catch (error) {
    // The plugin asks Prisma so that a missing row is an error.
    if ((error as { code?: unknown }).code === RECORD_NOT_FOUND) return null
    throw error
  }
}

const RECORD_NOT_FOUND = 'P2025'

/** The builder's schema types, for functions that are generic over refs. */
export type Types = (typeof builder)['$inferSchemaTypes']

builder.queryType({ description: 'What can be asked. Every field reads as the caller, in the caller’s tenant.' })
builder.mutationType({
  description:
    'What can be done: one business action per field, one `input` each, answered by a union of its success and of ' +
    'the outcomes a caller can act on. A field is null only when something unexpected went wrong.',
})
builder.subscriptionType({ description: 'What can be followed: each stream resumes from a cursor without gap.' })
