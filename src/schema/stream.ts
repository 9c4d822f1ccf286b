import type { FieldMap, InterfaceRef, ObjectFieldBuilder, ObjectRef } from '@pothos/core'
import type { GraphQLResolveInfo } from 'graphql'
import type { EventStream, LogEvent, StreamItem as Item } from '../events/index.ts'
import { mustBeAllowed } from '../viewer/index.ts'
import { builder, type Types } from './builder.ts'
import type { ApiContext } from './context.ts'
import { mustBeAffordable } from './subscription-cost.ts'

/** The state a stream begins with is read field by field when it is delivered, after its cursor was taken. */
export type Snapshot = Record<never, never>

export type EventItem = Extract<Item<Snapshot>, { kind: 'event' }>

/** What every item has, of whatever log. */
export type AnyItem = { readonly cursor: string }

export const StreamItem = builder.interfaceRef<AnyItem>('StreamItem').implement({
  description:
    'One item of a stream. New kinds of items come with time: select `cursor` for all of them and treat an unknown ' +
    '`__typename` as nothing but progress.',
  fields: (t) => ({
    cursor: t.field({
      type: 'EventCursor',
      description: 'Where the stream stands after this item. Pass it as `after` to go on from here.',
      resolve: (item) => item.cursor,
    }),
  }),
})

export const DomainEvent = builder.interfaceRef<EventItem>('DomainEvent').implement({
  description: 'Something that happened to one thing. Per thing, `sequence` rises by one without a gap.',
  interfaces: [StreamItem],
  fields: (t) => ({
    type: t.string({
      description: 'What happened, dotted: `orgmodel.resolution.completed`.',
      resolve: ({ event }) => event.type,
    }),
    subjectUuid: t.field({
      type: 'UUID',
      description: 'What it happened to.',
      resolve: ({ event }) => event.subjectId,
    }),
    sequence: t.int({
      description: 'The thing’s version since, which orders its events.',
      resolve: ({ event }) => event.sequence,
    }),
    reason: t.string({
      nullable: true,
      description: 'A stable code that says why, when the type alone does not.',
      resolve: ({ event }) => event.reason,
    }),
    data: t.field({
      type: 'JSONObject',
      description: 'What the event tells, as webhooks carry it. Free of personal data.',
      resolve: ({ event }) => event.data,
    }),
    actor: t.string({
      description: 'Subject of whoever did it, or `system`.',
      resolve: ({ event }) => event.actor,
    }),
    correlationId: t.string({
      description: 'Of the request that it goes back to, through every job in between.',
      resolve: ({ event }) => event.correlationId,
    }),
    recordedAt: t.field({
      type: 'DateTime',
      description: 'When it was recorded, by the database’s clock.',
      resolve: ({ event }) => event.recordedAt,
    }),
  }),
})

export interface StreamType<Shape extends AnyItem> {
  readonly description: string
  readonly interfaces?: readonly InterfaceRef<Types, EventItem>[]
  readonly fields: (t: ObjectFieldBuilder<Types, Shape>) => FieldMap
}

/** Declares one kind of stream item. */
export const streamType = <Shape extends AnyItem>(
  name: string,
  { description, interfaces = [], fields }: StreamType<Shape>,
): ObjectRef<Types, Shape> =>
  builder.objectRef<Shape>(name).implement({
    description,
    interfaces: [StreamItem, ...interfaces] as never,
    fields: fields as never,
  })

export const StreamCaughtUp = streamType<Extract<Item<Snapshot>, { kind: 'caughtUp' }>>('StreamCaughtUp', {
  description: 'Everything that had happened has been told; what follows happens now. Comes once per subscription.',
  fields: () => ({}),
})

export const AFTER = {
  type: 'EventCursor',
  description:
    'Go on after this place: a cursor of an item of any stream, of a mutation’s `eventCursor` or of the query’s. ' +
    'A place that the log no longer reaches ends the subscription with CURSOR_EXPIRED; begin anew without it.',
} as const

interface Opening {
  readonly after: string | null | undefined
  readonly snapshot?: boolean
  readonly permissions: readonly string[]
  readonly kinds: readonly string[]
}

/** Opens a stream of the caller's tenant; what the caller may not see is refused as a whole. */
export async function openStream(
  context: ApiContext,
  info: GraphQLResolveInfo,
  { after, snapshot = false, permissions, kinds }: Opening,
): Promise<EventStream<Snapshot>> {
  mustBeAffordable(context, info)
  const { viewer } = context.call()
  for (const permission of permissions) mustBeAllowed(viewer, permission)
  return context.feed.subscribe<Snapshot>({
    tenantId: viewer.tenantId,
    filter: { kinds },
    after: after ?? null,
    snapshot: snapshot ? async () => ({}) : undefined,
    signal: context.signal,
  })
}

/** The GraphQL type of an item, for the union of a stream. */
export const typeOfItem =
  (events: Readonly<Record<string, { readonly name: string }>>, snapshot?: { readonly name: string }) =>
  (item: Item<Snapshot> | LogEvent): string => {
    if (!('cursor' in item)) throw new Error('A stream gave something that is no item.')
    if (item.kind === 'caughtUp') return StreamCaughtUp.name
    const type = item.kind === 'snapshot' ? snapshot : events[item.event.subjectKind]
    if (type === undefined) throw new Error('A stream gave an item that its union does not know.')
    return type.name
  }
