import { complexityFromQuery } from '@pothos/plugin-complexity'
import { Kind, type DocumentNode, type GraphQLResolveInfo } from 'graphql'
import { MOST_COMPLEXITY, MOST_DEPTH, tooComplex } from './builder.ts'
import type { ApiContext } from './context.ts'

/**
 * Refuses a subscription whose single event would cost too much before the stream is opened: the complexity
 * plugin looks only when an event is resolved, which would fail every event instead.
 * @throws QUERY_TOO_COMPLEX
 */
export function mustBeAffordable(context: ApiContext, info: GraphQLResolveInfo): void {
  const document: DocumentNode = {
    kind: Kind.DOCUMENT,
    definitions: [info.operation, ...Object.values(info.fragments)],
  }
  const { complexity, depth } = complexityFromQuery(document, {
    schema: info.schema,
    ctx: context,
    variables: info.variableValues,
  })
  if (complexity > MOST_COMPLEXITY || depth > MOST_DEPTH) throw tooComplex(complexity, depth)
}
