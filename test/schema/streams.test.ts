import { beforeAll, describe, expect, test } from 'vitest'
import { EVENT_TYPES } from '../../src/schema/organisation/event-types.ts'
import { useApi, type Answer } from './api.ts'
import type { Json } from './json.ts'
import { succeeded } from './scene.ts'
import { codeOf, CREATE_PERSONA, personasIn, type Personas } from './personas.ts'

const api = useApi()
let personas: Personas

beforeAll(async () => {
  personas = await personasIn(api, 'Streams')
})

describe('streams', () => {
  const EVENTS =
    'subscription($after: EventCursor) { personaEvents(after: $after) { __typename ... on StreamItem { cursor } ... on PersonaChanged { name type persona { revision } } } }'
  const take = async (stream: AsyncIterableIterator<Answer>): Promise<Json> => {
    const { value } = await stream.next()
    if (value.errors !== undefined) throw value.errors[0]
    return Object.values(value.data)[0]
  }

  /** The next that tells of something: a transaction of another test on this server may hold the log back a while. */
  const event = async (stream: AsyncIterableIterator<Answer>): Promise<Json> => {
    for (;;) {
      const item = await take(stream)
      if (item.__typename !== 'StreamCaughtUp') return item
    }
  }

  test('R32 a stream resumed after a mutation’s cursor tells what follows and nothing of the mutation', async () => {
    const { eventCursor } = succeeded(
      await personas.ask(CREATE_PERSONA, { input: { name: 'R32', filter: personas.everybody() } }),
    )
    await personas.persona('R32 next')
    const stream = await api.follow(personas.scene.as, EVENTS, { after: eventCursor })
    expect(await event(stream)).toMatchObject({
      __typename: 'PersonaChanged',
      name: 'R32 next',
      type: 'persona.created',
      persona: { revision: 1 },
    })
    await personas.persona('R32 live')
    expect(await event(stream)).toMatchObject({ name: 'R32 live' })
    await stream.return?.()
  })

  test('R34 a query’s cursor stands before everything that it read', async () => {
    const { data } = await personas.ask('{ eventCursor personas(first: 1) { nodes { name } } }')
    const stream = await api.follow(personas.scene.as, EVENTS, { after: data?.['eventCursor'] })
    expect((await take(stream)).__typename).toBe('StreamCaughtUp')
    await stream.return?.()
  })

  test('R33 the model’s stream begins with its state, then goes live, each item with its cursor', async () => {
    const source =
      'subscription { orgModelEvents { __typename ... on StreamItem { cursor } ... on OrgModelSnapshot { active { number } draft { status resolutions { nodes { status } } } } } }'
    const stream = await api.follow(personas.scene.as, source)
    expect(await take(stream)).toMatchObject({
      __typename: 'OrgModelSnapshot',
      cursor: expect.any(String),
      active: { number: 2 },
      draft: { status: 'DRAFT', resolutions: { nodes: [{ status: 'PENDING' }] } },
    })
    expect(await take(stream)).toMatchObject({ __typename: 'StreamCaughtUp', cursor: expect.any(String) })
    await stream.return?.()
  })

  test('R33 the tenant’s stream tells of everything in it', async () => {
    const { data } = await personas.ask('{ eventCursor }')
    await personas.persona('R33')
    const source =
      'subscription($after: EventCursor) { tenantEvents(after: $after) { __typename ... on DomainEvent { type subjectUuid sequence actor data } } }'
    const stream = await api.follow(personas.scene.as, source, { after: data?.['eventCursor'] })
    expect(await event(stream)).toMatchObject({
      __typename: 'PersonaChanged',
      type: 'persona.created',
      sequence: 1,
      actor: 'ada',
    })
    await stream.return?.()
  })

  test('R35 a cursor of another tenant or a made-up one opens no stream', async () => {
    const other = await api.tenant('R35')
    const foreign = (await api.ask(other, '{ eventCursor }')).data?.['eventCursor']
    for (const after of [foreign, 'AAAA']) {
      const stream = await api.follow(personas.scene.as, EVENTS, { after })
      const { value } = await stream.next()
      expect(value.errors?.[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', reason: 'INVALID_CURSOR' })
    }
    expect(api.feed.size).toBe(0)
  })

  test('R38 R48 a stream is refused as a whole: to who may not, and when one item would cost too much', async () => {
    const nobody = await api.follow({ ...personas.scene.as, roles: [] }, EVENTS)
    expect(codeOf((await nobody.next()).value)).toBe('FORBIDDEN')
    const many = Array.from({ length: 12 }, (_, i) => `a${i}: resolutions(first: 100) { nodes { id } }`).join(' ')
    const costly = await api.follow(
      personas.scene.as,
      `subscription { orgModelEvents { ... on OrgModelSnapshot { draft { ${many} } } } }`,
    )
    expect(codeOf((await costly.next()).value)).toBe('QUERY_TOO_COMPLEX')
    expect(api.feed.size).toBe(0)
  })

  test('R33 every kind of thing that has a lifecycle is in a stream', async () => {
    const { rows } = await api.db.pool.query<{ kind: string }>('select distinct kind from transition_pair')
    expect(Object.keys(EVENT_TYPES)).toEqual(expect.arrayContaining(rows.map(({ kind }) => kind)))
  })
})
