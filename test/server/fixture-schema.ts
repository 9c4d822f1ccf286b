import {
  GraphQLError,
  GraphQLInt,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLSchema,
  GraphQLString,
  type GraphQLFieldConfig,
  type GraphQLFieldResolver,
} from 'graphql'
import { ConflictError, NotFoundError } from '../../src/errors/index.ts'
import type { Incoming } from '../../src/server/incoming.ts'
import { Broadcast } from './broadcast.ts'

export interface Tick {
  readonly n: number
  readonly cursor: string
}

/** What a test steers and sees of the fixture schema. */
export interface Fixture {
  readonly schema: GraphQLSchema
  readonly broadcast: Broadcast<Tick>
  /** Contexts made so far. */
  readonly contexts: Incoming[]
  /** Resolves when `held` has been entered; `release` lets it answer. */
  entered: Promise<void>
  release: () => void
  /** How often the second of two slow mutations ran. */
  secondRan: number
}

export interface FixtureContext {
  readonly incoming: Incoming
}

/** A schema with one field per thing a transport can meet, without a database. */
export function makeFixture(): Fixture {
  let enter = () => {}
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const broadcast = new Broadcast<Tick>()
  const fixture: Fixture = {
    schema: undefined as never,
    broadcast,
    contexts: [],
    entered: new Promise<void>((resolve) => {
      enter = resolve
    }),
    release: () => release(),
    secondRan: 0,
  }

  const text = <Source = unknown>(
    resolve: GraphQLFieldResolver<Source, FixtureContext>,
  ): GraphQLFieldConfig<Source, FixtureContext> => ({ type: GraphQLString, resolve })
  const thrown = <Source = unknown>(make: () => Error) =>
    text<Source>(() => {
      throw make()
    })
  const node: GraphQLObjectType = new GraphQLObjectType({
    name: 'Node',
    fields: () => ({
      next: { type: node, resolve: () => ({}) },
      name: { type: GraphQLString, resolve: () => 'node' },
    }),
  })
  const query = new GraphQLObjectType<unknown, FixtureContext>({
    name: 'Query',
    fields: {
      hello: {
        ...text((_, { name }: { name?: string }) => `hello ${name ?? 'you'}`),
        args: { name: { type: GraphQLString } },
      },
      subject: text((_, _args, { incoming }) => incoming.viewer?.subject),
      correlationId: text((_, _args, { incoming }) => incoming.correlationId),
      strict: { type: new GraphQLNonNull(GraphQLString), resolve: () => null },
      number: {
        type: GraphQLInt,
        args: { of: { type: new GraphQLNonNull(GraphQLInt) } },
        resolve: (_, { of }: { of: number }) => of,
      },
      node: { type: node, resolve: () => ({}) },
      held: text(async () => {
        enter()
        await held
        return 'released'
      }),
      never: text(() => new Promise(() => {})),
      unexpected: thrown(() =>
        Object.assign(new Error('password=hunter2 at 10.0.0.1'), { detail: 'Key (mail)=(ann@example.org)' }),
      ),
      notFound: thrown(() => new NotFoundError('The draft')),
      conflict: thrown(() => new ConflictError('Somebody was faster.', { code: 'draft.changed', currentVersion: 3 })),
      forbidden: thrown(() => new GraphQLError('Not for you.', { extensions: { code: 'FORBIDDEN', secret: 'x' } })),
      uncoded: thrown(() => new GraphQLError('Bad cursor.')),
      strangeCode: thrown(() => new GraphQLError('internal detail', { extensions: { code: 'P2002' } })),
      locked: thrown(() => Object.assign(new Error('canceling statement'), { code: '55P03' })),
    },
  })
  const mutation = new GraphQLObjectType<unknown, FixtureContext>({
    name: 'Mutation',
    fields: {
      change: text(() => 'changed'),
      fail: thrown(() => new Error('secret of the second mutation')),
      slow: text(() => new Promise(() => {})),
      second: text(() => {
        fixture.secondRan += 1
        return 'ran'
      }),
    },
  })
  const tick = new GraphQLObjectType<Tick, FixtureContext>({
    name: 'Tick',
    fields: {
      n: { type: GraphQLInt },
      cursor: { type: GraphQLString },
      padding: { type: GraphQLString, resolve: () => 'x'.repeat(20_000) },
      correlationId: text<Tick>((_, _args, { incoming }) => incoming.correlationId),
      context: { type: GraphQLInt, resolve: (_, _args, { incoming }) => fixture.contexts.lastIndexOf(incoming) },
      broken: thrown<Tick>(() => new Error('secret of one event')),
    },
  })
  const stream = (subscribe: NonNullable<GraphQLFieldConfig<unknown, FixtureContext>['subscribe']>) => ({
    type: tick,
    subscribe,
    resolve: (event: unknown) => event,
  })
  const subscription = new GraphQLObjectType<unknown, FixtureContext>({
    name: 'Subscription',
    fields: {
      ticks: stream(() => broadcast.subscribe()),
      late: stream(async () => {
        await held
        return broadcast.subscribe()
      }),
      refused: stream(() => {
        throw new NotFoundError('The draft')
      }),
      unexpected: stream(() => Promise.reject(new Error('secret of subscribing'))),
      breaks: stream(() => broadcast.failing(new Error('secret of the source'))),
      lapsed: stream(() => {
        throw Object.assign(new Error('The cursor is older than the log.'), { code: 'CURSOR_EXPIRED' })
      }),
      cutOff: stream(() =>
        broadcast.failing(Object.assign(new Error('Too slow.'), { code: 'SLOW_CONSUMER', cursor: 'c7' })),
      ),
    },
  })
  Object.assign(fixture, { schema: new GraphQLSchema({ query, mutation, subscription }) })
  return fixture
}
