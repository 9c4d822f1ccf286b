import { beforeAll, describe, expect, test } from 'vitest'
import { encodeId } from '../../src/schema/id.ts'
import { useApi, type Answer } from './api.ts'
import type { Json } from './json.ts'
import { sceneIn, succeeded, type Scene } from './scene.ts'

const api = useApi()
let scene: Scene

beforeAll(async () => {
  scene = await sceneIn(api, 'Manners')
})

const codeOf = (answer: Answer): unknown => answer.errors?.[0]?.extensions['code']
const ask = (source: string, variables?: Record<string, unknown>) => api.ask(scene.as, source, variables)

const CREATE = /* GraphQL */ `
  mutation Create($input: CreatePersonaInput!) {
    createPersona(input: $input) {
      __typename
      ... on CreatePersonaSuccess {
        eventCursor
        persona {
          id
          uuid
          name
          description
          revision
        }
      }
      ... on UserError {
        code
        message
        path
      }
      ... on PersonaFilterInvalidError {
        problems {
          path
          code
        }
      }
    }
  }
`
const UPDATE = /* GraphQL */ `
  mutation Update($input: UpdatePersonaInput!) {
    updatePersona(input: $input) {
      __typename
      ... on UpdatePersonaSuccess {
        eventCursor
        persona {
          id
          name
          description
          revision
        }
      }
      ... on UserError {
        code
        path
      }
      ... on ConflictError {
        currentVersion
      }
    }
  }
`
const everybody = () => ({ condition: { attributeId: scene.attribute.uuid, comparison: 'IS_SET' } })
const persona = async (name: string): Promise<Json> =>
  succeeded(await ask(CREATE, { input: { name, description: 'first', filter: everybody() } }))['persona']

describe('ids', () => {
  test('R9 the id of another type is the caller’s mistake, told with its place', async () => {
    const answer = await ask('query($id: ID!) { persona(id: $id) { id } }', { id: scene.activeId })
    expect(codeOf(answer)).toBe('BAD_USER_INPUT')
    expect(answer.errors?.[0]?.extensions['inputPath']).toEqual(['id'])
    expect(answer.errors?.[0]?.message).toContain('OrgModelVersion')
  })

  test('R9 so is what is no id at all, in a query, in node and deep in an input', async () => {
    expect(codeOf(await ask('{ persona(id: "nonsense") { id } }'))).toBe('BAD_USER_INPUT')
    expect(codeOf(await ask('{ node(id: "nonsense") { id } }'))).toBe('BAD_USER_INPUT')
    const answer = await ask(UPDATE, { input: { personaId: scene.personId, expectedRevision: 1 } })
    expect(codeOf(answer)).toBe('BAD_USER_INPUT')
    expect(answer.errors?.[0]?.extensions['inputPath']).toEqual(['input', 'personaId'])
    expect(answer.data).toEqual({ updatePersona: null })
  })

  test('R10 what does not exist and what is not ours are the same null, by every road', async () => {
    const missing = encodeId('Persona', '0190a000-0000-7000-8000-00000000dead')
    const source =
      'query($id: ID!, $ids: [ID!]!) { persona(id: $id) { id } node(id: $id) { id } nodes(ids: $ids) { id } }'
    const { data, errors } = await ask(source, { id: missing, ids: [missing, scene.persona.id] })
    expect(errors).toBeUndefined()
    expect(data).toEqual({ persona: null, node: null, nodes: [null, { id: scene.persona.id }] })
  })

  test('R8 everything that has an id is fetched by it', async () => {
    const ids = [scene.activeId, scene.persona.id, scene.personId, scene.resolutionId]
    const { data } = await ask('query($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }', { ids })
    const names = ['OrgModelVersion', 'Persona', 'Person', 'OrgModelResolution']
    expect(data?.['nodes']).toEqual(names.map((__typename, i) => ({ __typename, id: ids[i] })))
  })

  test('R6 nodes takes at most 100 ids', async () => {
    const ids = Array.from({ length: 101 }, () => scene.persona.id)
    expect(codeOf(await ask('query($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids }))).toBe('BAD_USER_INPUT')
  })
})

describe('outcomes', () => {
  test('R13 what the first mutation did is told although the second failed unexpectedly', async () => {
    const source = `mutation($input: CreatePersonaInput!) {
      first: createPersona(input: $input) { __typename }
      second: archivePersona(input: { personaId: "nonsense" }) { __typename }
    }`
    const answer = await ask(source, { input: { name: 'R13', filter: everybody() } })
    expect(answer.data).toEqual({ first: { __typename: 'CreatePersonaSuccess' }, second: null })
    expect(codeOf(answer)).toBe('BAD_USER_INPUT')
  })

  test('R14 absent leaves as it is, null empties what can be empty and is refused elsewhere', async () => {
    const { id: personaId } = await persona('R14')
    const input = { personaId, expectedRevision: 1 }
    const kept = succeeded(await ask(UPDATE, { input: { ...input, name: 'R14 renamed' } }))
    expect(kept['persona']).toMatchObject({ name: 'R14 renamed', description: 'first' })
    const emptied = succeeded(await ask(UPDATE, { input: { ...input, expectedRevision: 2, description: null } }))
    expect(emptied['persona']).toMatchObject({ name: 'R14 renamed', description: null })
    const refused = await ask(UPDATE, { input: { ...input, expectedRevision: 3, name: null } })
    expect(refused.data?.['updatePersona']).toMatchObject({ __typename: 'ValidationError', path: ['name'] })
  })

  test('R15 a filter that cannot be evaluated is told in the places of the input', async () => {
    const wrong = { condition: { attributeId: scene.persona.uuid, comparison: 'IS_SET' } }
    const unknownValue = {
      condition: {
        attributeId: scene.attribute.uuid,
        comparison: 'IN',
        valueIds: [scene.value.uuid, scene.persona.uuid],
      },
    }
    const filter = { and: [everybody(), { not: wrong }, { or: [unknownValue] }] }
    const answer = await ask(CREATE, { input: { name: 'R15', filter } })
    expect(answer.data?.['createPersona']).toMatchObject({
      __typename: 'PersonaFilterInvalidError',
      code: 'persona.filter_invalid',
      problems: [
        { path: ['filter', 'and', '1', 'not', 'condition', 'attributeId'], code: 'unknown_field' },
        { path: ['filter', 'and', '2', 'or', '0', 'condition', 'valueIds', '1'], code: 'unknown_value' },
      ],
    })
  })

  test('R15 who may not is told so as an outcome; in a query by a coded error', async () => {
    const reader = { ...scene.as, subject: 'reader', roles: ['reader'] }
    const input = { name: 'R15', filter: everybody() }
    const refused = await api.ask(reader, CREATE, { input })
    expect(refused.data?.['createPersona']).toMatchObject({ __typename: 'ForbiddenError', code: 'FORBIDDEN' })
    const nobody = { ...scene.as, roles: [] }
    expect(codeOf(await api.ask(nobody, '{ personas { nodes { id } } }'))).toBe('FORBIDDEN')
    expect(codeOf(await api.ask(nobody, 'query($id: ID!) { node(id: $id) { id } }', { id: scene.persona.id }))).toBe(
      'FORBIDDEN',
    )
  })

  test('R31 a version that has moved is a conflict that tells where it is now', async () => {
    const { id: personaId } = await persona('R31')
    const answer = await ask(UPDATE, { input: { personaId, expectedRevision: 7, name: 'R31 late' } })
    expect(answer.data?.['updatePersona']).toMatchObject({ __typename: 'ConflictError', currentVersion: 1 })
  })

  test('R31 so is a draft that was edited meanwhile', async () => {
    const source = `mutation($id: UUID!, $revision: Int!) {
      removeOrgModelAttribute(input: { attributeId: $id, expectedContentRevision: $revision }) {
        __typename ... on ConflictError { code currentVersion }
      }
    }`
    const answer = await ask(source, { id: scene.attribute.uuid, revision: scene.contentRevision + 5 })
    expect(answer.data?.['removeOrgModelAttribute']).toEqual({
      __typename: 'ConflictError',
      code: 'orgmodel.version.draft_changed',
      currentVersion: scene.contentRevision,
    })
  })

  test('R38 without a token every root field says so, subscriptions too', async () => {
    for (const source of ['{ viewer { subject } }', '{ personas { nodes { id } } }']) {
      expect(codeOf(await api.ask(null, source))).toBe('UNAUTHENTICATED')
    }
    expect(codeOf(await api.ask(null, CREATE, { input: { name: 'R38', filter: everybody() } }))).toBe('UNAUTHENTICATED')
  })
})

describe('lists', () => {
  const PAGE =
    'query($first: Int, $last: Int, $after: String, $before: String) { people(first: $first, last: $last, after: $after, before: $before) { nodes { externalId } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }'
  const page = async (args: Record<string, unknown>): Promise<Json> => (await ask(PAGE, args)).data?.['people']

  test('R23 arguments out of range or against each other are refused, not bent', async () => {
    const wrong = [
      { first: 0 },
      { first: 101 },
      { first: -1 },
      { first: 5, last: 5 },
      { last: 5 },
      { first: 5, before: 'x' },
      { after: 'x', before: 'y', last: 5 },
    ]
    for (const args of wrong) expect(codeOf(await ask(PAGE, args)), JSON.stringify(args)).toBe('BAD_USER_INPUT')
  })

  test('R24 pages forwards and backwards give every item once, in one order', async () => {
    const seen: string[] = []
    let after: string | null = null
    for (;;) {
      const { nodes, pageInfo }: Json = await page({ first: 5, after })
      seen.push(...nodes.map(({ externalId }: Json) => externalId))
      if (!pageInfo.hasNextPage) break
      after = pageInfo.endCursor
    }
    expect(seen).toEqual(Array.from({ length: 12 }, (_, i) => String(i + 1)))
    const back = await page({ last: 5, before: after })
    expect(back.nodes.map(({ externalId }: Json) => externalId)).toEqual(['5', '6', '7', '8', '9'])
    expect(back.pageInfo).toMatchObject({ hasPreviousPage: true, hasNextPage: true })
  })

  test('R24 a cursor is good when its row is gone, and a made-up one is the caller’s mistake', async () => {
    const { data } = await ask('{ personas(first: 1) { edges { cursor node { name } } } }')
    const made = await persona('AAA first of all')
    const [edge] = (await ask('{ personas(first: 1) { edges { cursor node { id } } } }')).data!['personas'].edges
    expect(edge.node.id).toBe(made.id)
    await api.db.pool.query('delete from org_model_reference where source_id = $1', [made.uuid])
    await api.db.pool.query('delete from persona where id = $1', [made.uuid])
    const next = await ask('query($after: String) { personas(first: 1, after: $after) { nodes { name } } }', {
      after: edge.cursor,
    })
    expect(next.data?.['personas'].nodes[0].name).toBe(data?.['personas'].edges[0].node.name)
    for (const after of [
      'zzz',
      Buffer.from('v1:{"id":"x"}').toString('base64url'),
      Buffer.from('v2:{}').toString('base64url'),
    ]) {
      expect(codeOf(await ask(PAGE, { after })), after).toBe('BAD_USER_INPUT')
    }
  })

  test('R25 lists are narrowed by what an operator looks for', async () => {
    const found = await ask(
      '{ personas(filter: { nameContains: "FRONT", validity: VALID, isArchived: false }) { nodes { name } } }',
    )
    expect(found.data?.['personas'].nodes).toEqual([{ name: 'Front office' }])
    const versions = await ask('{ orgModelVersions(filter: { statuses: [ARCHIVED] }) { nodes { status number } } }')
    expect(versions.data?.['orgModelVersions'].nodes).toEqual([{ status: 'ARCHIVED', number: 1 }])
  })
})

describe('idempotency', () => {
  const keyed = (idempotencyKey: string, name: string) => ({ input: { name, filter: everybody(), idempotencyKey } })
  const named = async (name: string): Promise<number> =>
    (await api.db.pool.query('select from persona where name = $1', [name])).rowCount ?? 0

  test('R30 the same key and input do nothing twice and give the same thing, in the fields asked for', async () => {
    const first = succeeded(await ask(CREATE, keyed('k1', 'R30')))
    const again = succeeded(await ask(CREATE, keyed('k1', 'R30')))
    expect(again['persona'].id).toBe(first['persona'].id)
    expect(await named('R30')).toBe(1)
    const other = await ask(
      'mutation($input: CreatePersonaInput!) { createPersona(input: $input) { ... on CreatePersonaSuccess { persona { validity } } } }',
      keyed('k1', 'R30'),
    )
    expect(other.data?.['createPersona'].persona).toEqual({ validity: 'VALID' })
  })

  test('R30 the same key with another input is refused; another actor’s key is another key', async () => {
    succeeded(await ask(CREATE, keyed('k2', 'R30 a')))
    const reused = await ask(CREATE, keyed('k2', 'R30 b'))
    expect(reused.data?.['createPersona']).toMatchObject({
      __typename: 'IdempotencyKeyReusedError',
      code: 'IDEMPOTENCY_KEY_REUSED',
    })
    expect(await named('R30 b')).toBe(0)
    succeeded(await api.ask({ ...scene.as, subject: 'bob' }, CREATE, keyed('k2', 'R30 b')))
  })

  test('R30 of many at once one makes it, and all get it', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => ask(CREATE, keyed('k3', 'R30 many'))))
    const ids = new Set(answers.map((answer) => succeeded(answer)['persona'].id))
    expect(ids.size).toBe(1)
    expect(await named('R30 many')).toBe(1)
  })

  test('R30 a request that failed leaves its key free', async () => {
    const bad = { condition: { attributeId: scene.persona.uuid, comparison: 'IS_SET' } }
    const refused = await ask(CREATE, { input: { name: 'R30 c', filter: bad, idempotencyKey: 'k4' } })
    expect(refused.data?.['createPersona'].__typename).toBe('PersonaFilterInvalidError')
    succeeded(await ask(CREATE, keyed('k4', 'R30 c')))
  })

  test('R30 a key that has lapsed is new again, and lapsed keys of the tenant go', async () => {
    succeeded(await ask(CREATE, keyed('k5', 'R30 d')))
    succeeded(await ask(CREATE, keyed('k6', 'R30 e')))
    await api.db.pool.query(
      `update idempotency_key set expires_at = now() - interval '1 second' where key in ('k5', 'k6')`,
    )
    succeeded(await ask(CREATE, keyed('k5', 'R30 other')))
    expect(await named('R30 other')).toBe(1)
    const { rows } = await api.db.pool.query(`select key from idempotency_key where key in ('k5', 'k6')`)
    expect(rows).toEqual([{ key: 'k5' }])
  })

  test('R30 a key has 1 to 128 characters', async () => {
    for (const key of ['', 'x'.repeat(129)]) {
      const answer = await ask(CREATE, keyed(key, 'R30 f'))
      expect(answer.data?.['createPersona']).toMatchObject({ __typename: 'ValidationError', path: ['idempotencyKey'] })
    }
  })
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
    const { eventCursor } = succeeded(await ask(CREATE, { input: { name: 'R32', filter: everybody() } }))
    await persona('R32 next')
    const stream = await api.follow(scene.as, EVENTS, { after: eventCursor })
    expect(await event(stream)).toMatchObject({
      __typename: 'PersonaChanged',
      name: 'R32 next',
      type: 'persona.created',
      persona: { revision: 1 },
    })
    await persona('R32 live')
    expect(await event(stream)).toMatchObject({ name: 'R32 live' })
    await stream.return?.()
  })

  test('R34 a query’s cursor stands before everything that it read', async () => {
    const { data } = await ask('{ eventCursor personas(first: 1) { nodes { name } } }')
    const stream = await api.follow(scene.as, EVENTS, { after: data?.['eventCursor'] })
    expect((await take(stream)).__typename).toBe('StreamCaughtUp')
    await stream.return?.()
  })

  test('R33 the model’s stream begins with its state, then goes live, each item with its cursor', async () => {
    const source =
      'subscription { orgModelEvents { __typename ... on StreamItem { cursor } ... on OrgModelSnapshot { active { number } draft { status resolutions { nodes { status } } } } } }'
    const stream = await api.follow(scene.as, source)
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
    const { data } = await ask('{ eventCursor }')
    await persona('R33')
    const source =
      'subscription($after: EventCursor) { tenantEvents(after: $after) { __typename ... on DomainEvent { type subjectUuid sequence actor data } } }'
    const stream = await api.follow(scene.as, source, { after: data?.['eventCursor'] })
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
      const stream = await api.follow(scene.as, EVENTS, { after })
      const { value } = await stream.next()
      expect(value.errors?.[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', reason: 'INVALID_CURSOR' })
    }
    expect(api.feed.size).toBe(0)
  })

  test('R38 R48 a stream is refused as a whole: to who may not, and when one item would cost too much', async () => {
    const nobody = await api.follow({ ...scene.as, roles: [] }, EVENTS)
    expect(codeOf((await nobody.next()).value)).toBe('FORBIDDEN')
    const many = Array.from({ length: 12 }, (_, i) => `a${i}: resolutions(first: 100) { nodes { id } }`).join(' ')
    const costly = await api.follow(
      scene.as,
      `subscription { orgModelEvents { ... on OrgModelSnapshot { draft { ${many} } } } }`,
    )
    expect(codeOf((await costly.next()).value)).toBe('QUERY_TOO_COMPLEX')
    expect(api.feed.size).toBe(0)
  })
})
