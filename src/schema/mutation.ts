import type { FieldMap, ObjectFieldBuilder } from '@pothos/core'
import {
  ConflictError,
  ForbiddenError,
  IdempotencyKeyReusedError,
  InvalidTransitionError,
  NotFoundError,
  UserError,
  ValidationError,
} from '../errors/index.ts'
import { builder } from './builder.ts'

type ErrorClass = abstract new (...args: never[]) => UserError

/** What any mutation may answer. Beyond them each names its own. */
const ALWAYS: readonly ErrorClass[] = [ValidationError, ForbiddenError, NotFoundError, ConflictError]
export const KEYED: readonly ErrorClass[] = [IdempotencyKeyReusedError]
export const MOVES: readonly ErrorClass[] = [InvalidTransitionError]

/** The union that a mutation answers with, for the `errors` option of its field. */
export function outcomes(mutation: string, more: readonly ErrorClass[] = []) {
  const name = `${mutation.charAt(0).toUpperCase()}${mutation.slice(1)}Result`
  return {
    types: [...ALWAYS, ...more] as (new () => UserError)[],
    union: { name, description: `What \`${mutation}\` can end in.` },
  }
}

/** The success of a mutation: what changed, and the place in the log from where a stream misses nothing after it. */
export function successOf<Shape extends object>(
  name: string,
  description: string,
  fields: (t: ObjectFieldBuilder<PothosSchemaTypesOf, Shape>) => FieldMap,
) {
  return builder.objectRef<Shape>(name).implement({
    description,
    fields: (t) => ({
      ...fields(t as never),
      eventCursor: t.field({
        type: 'EventCursor',
        description:
          'A place in the log taken after the change was committed. A stream resumed from here misses nothing that ' +
          'happens next; while other transactions are open it may tell this change once more.',
        resolve: (_success, _args, context) => context.eventCursor(),
      }),
    }),
  })
}

type PothosSchemaTypesOf = typeof builder extends PothosSchemaTypes.SchemaBuilder<infer Types> ? Types : never
