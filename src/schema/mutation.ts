import type { FieldMap, ObjectFieldBuilder } from '@pothos/core'
import type { Call } from '../domain/call.ts'
import {
  ConflictError,
  ForbiddenError,
  IdempotencyKeyReusedError,
  InvalidTransitionError,
  NotFoundError,
  type UserError,
  ValidationError,
} from '../errors/index.ts'
import { currentCursor } from '../events/index.ts'
import { builder, type Types } from './builder.ts'
import type { ApiContext } from './context.ts'
import { onceByKey, type KeyedRequest } from './idempotency.ts'
import { watchedDatabase } from './watched-database.ts'

export type ErrorClass = abstract new (...args: never[]) => UserError

/** What any mutation may answer. Beyond them each names its own. */
const ALWAYS: readonly ErrorClass[] = [ValidationError, ForbiddenError, NotFoundError, ConflictError]
/** Of mutations that take an idempotency key. */
export const KEYED: readonly ErrorClass[] = [IdempotencyKeyReusedError]
/** Of mutations that change a status. */
export const MOVES: readonly ErrorClass[] = [InvalidTransitionError]

/** The union that a mutation answers with: the `errors` option of its field. */
export function outcomes(mutation: string, ...more: readonly (readonly ErrorClass[])[]) {
  const name = `${mutation.charAt(0).toUpperCase()}${mutation.slice(1)}Result`
  return {
    types: [...ALWAYS, ...more.flat()] as unknown as (new () => UserError)[],
    union: { name, description: `What \`${mutation}\` can end in.` },
  }
}

/** The result of a change, with the place in the log that goes with it. */
export type Changed<Result> = { readonly result: Result; readonly eventCursor: string }

/** Declares the success of a mutation: its own fields, and the place in the log from where nothing is missed. */
export function successOf<Result>(
  name: string,
  description: string,
  fields: (t: ObjectFieldBuilder<Types, Changed<Result>>) => FieldMap,
) {
  return builder.objectRef<Changed<Result>>(name).implement({
    description,
    fields: (t) => ({
      ...fields(t as never),
      eventCursor: t.field({
        type: 'EventCursor',
        description:
          'The place in the log that goes with this answer: a stream resumed from here tells everything that the ' +
          'answer does not show yet, and nothing of what this mutation did.',
        resolve: (change) => change.eventCursor,
      }),
    }),
  })
}

/**
 * Runs a domain's function and takes the place in the log inside its last transaction, so that answer and place
 * are of one moment. With `keyed`, a repetition of the same idempotency key is answered without running it.
 */
export async function changed<Result>(
  context: ApiContext,
  act: (call: Call) => Promise<Result>,
  keyed?: KeyedRequest<Result>,
): Promise<Changed<Result>> {
  const { cursors, feed } = context
  const call = context.call()
  const { tenantId } = call.viewer
  let eventCursor: string | null = null
  const database = watchedDatabase(call.database, {
    atEnd: async (tx) => {
      eventCursor = await currentCursor(tx, tenantId, cursors)
    },
  })
  // Taken before the reading, where nothing is written: an event may then come twice, but none is missed.
  const before = async (): Promise<string> => currentCursor(call.database, tenantId, cursors)
  const watched = { ...call, database }
  const result =
    keyed === undefined
      ? await act(watched)
      : await onceByKey(
          watched,
          {
            ...keyed,
            replay: async (subjects) => {
              eventCursor = await before()
              return keyed.replay(subjects)
            },
          },
          act,
        )
  feed.hint()
  return { result, eventCursor: eventCursor ?? (await before()) }
}

/**
 * The fields of an update that the caller gave: what is left out stays as it is. Null empties the fields named
 * in `clearable` and is refused for the others.
 * @throws ValidationError
 */
export function givenOf<Input extends object, Name extends keyof Input & string, Clearable extends Name = never>(
  input: Input,
  names: readonly Name[],
  clearable: readonly Clearable[] = [],
): { [Key in Name]?: Key extends Clearable ? Exclude<Input[Key], undefined> : NonNullable<Input[Key]> } {
  const given: Partial<Record<Name, unknown>> = {}
  for (const name of names) {
    const value = input[name]
    if (value === undefined) continue
    if (value === null && !(clearable as readonly Name[]).includes(name)) {
      throw new ValidationError(`"${name}" cannot be null. Leave it out to keep it as it is.`, { path: [name] })
    }
    given[name] = value
  }
  return given as ReturnType<typeof givenOf<Input, Name, Clearable>>
}
