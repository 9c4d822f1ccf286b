import { beforeAll, describe, expect, test } from 'vitest'
import { encodeId } from '../../src/schema/id.ts'
import { useApi } from './api.ts'
import type { Json } from './json.ts'
import { succeeded } from './scene.ts'
import { codeOf, CREATE_PERSONA, personasIn, type Personas } from './personas.ts'

const api = useApi()
let personas: Personas

beforeAll(async () => {
  personas = await personasIn(api, 'Manners')
})

const ANY_UUID = '0193a000-0000-7000-8000-00000000000a'

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
describe('ids', () => {
  test('R9 the id of another type is the caller’s mistake, told with its place', async () => {
    const answer = await personas.ask('query($id: ID!) { persona(id: $id) { id } }', { id: personas.scene.activeId })
    expect(codeOf(answer)).toBe('BAD_USER_INPUT')
    expect(answer.errors?.[0]?.extensions['inputPath']).toEqual(['id'])
    expect(answer.errors?.[0]?.message).toContain('OrgModelVersion')
  })

  test('R9 so is what is no id at all, in a query, in node and deep in an input', async () => {
    expect(codeOf(await personas.ask('{ persona(id: "nonsense") { id } }'))).toBe('BAD_USER_INPUT')
    expect(codeOf(await personas.ask('{ node(id: "nonsense") { id } }'))).toBe('BAD_USER_INPUT')
    const answer = await personas.ask(UPDATE, { input: { personaId: personas.scene.personId, expectedRevision: 1 } })
    expect(codeOf(answer)).toBe('BAD_USER_INPUT')
    expect(answer.errors?.[0]?.extensions['inputPath']).toEqual(['input', 'personaId'])
    expect(answer.data).toEqual({ updatePersona: null })
  })

  test('R10 what does not exist and what is not ours are the same null, by every road', async () => {
    const missing = encodeId('Persona', '0190a000-0000-7000-8000-00000000dead')
    const source =
      'query($id: ID!, $ids: [ID!]!) { persona(id: $id) { id } node(id: $id) { id } nodes(ids: $ids) { id } }'
    const { data, errors } = await personas.ask(source, { id: missing, ids: [missing, personas.scene.persona.id] })
    expect(errors).toBeUndefined()
    expect(data).toEqual({ persona: null, node: null, nodes: [null, { id: personas.scene.persona.id }] })
  })

  test('R8 everything that has an id is fetched by it', async () => {
    const ids = [
      personas.scene.activeId,
      personas.scene.persona.id,
      personas.scene.personId,
      personas.scene.resolutionId,
    ]
    const { data } = await personas.ask('query($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }', { ids })
    const names = ['OrgModelVersion', 'Persona', 'Person', 'OrgModelResolution']
    expect(data?.['nodes']).toEqual(names.map((__typename, i) => ({ __typename, id: ids[i] })))
  })

  test('R10 a tenant is no node: its id finds nothing', async () => {
    const source = 'query($id: ID!) { node(id: $id) { id } nodes(ids: [$id]) { id } }'
    const { data, errors } = await personas.ask(source, { id: personas.scene.tenantNodeId })
    expect(errors).toBeUndefined()
    expect(data).toEqual({ node: null, nodes: [null] })
  })

  test('R6 nodes takes at most 100 ids', async () => {
    const ids = Array.from({ length: 101 }, () => personas.scene.persona.id)
    expect(codeOf(await personas.ask('query($ids: [ID!]!) { nodes(ids: $ids) { id } }', { ids }))).toBe(
      'BAD_USER_INPUT',
    )
  })
})

describe('outcomes', () => {
  test('R13 what the first mutation did is told although the second failed unexpectedly', async () => {
    const source = `mutation($input: CreatePersonaInput!) {
      first: createPersona(input: $input) { __typename }
      second: archivePersona(input: { personaId: "nonsense" }) { __typename }
    }`
    const answer = await personas.ask(source, { input: { name: 'R13', filter: personas.everybody() } })
    expect(answer.data).toEqual({ first: { __typename: 'CreatePersonaSuccess' }, second: null })
    expect(codeOf(answer)).toBe('BAD_USER_INPUT')
  })

  test('R14 absent leaves as it is, null empties what can be empty and is refused elsewhere', async () => {
    const { id: personaId } = await personas.persona('R14')
    const input = { personaId, expectedRevision: 1 }
    const kept = succeeded(await personas.ask(UPDATE, { input: { ...input, name: 'R14 renamed' } }))
    expect(kept['persona']).toMatchObject({ name: 'R14 renamed', description: 'first' })
    const emptied = succeeded(
      await personas.ask(UPDATE, { input: { ...input, expectedRevision: 2, description: null } }),
    )
    expect(emptied['persona']).toMatchObject({ name: 'R14 renamed', description: null })
    const refused = await personas.ask(UPDATE, { input: { ...input, expectedRevision: 3, name: null } })
    expect(refused.data?.['updatePersona']).toMatchObject({ __typename: 'ValidationError', path: ['name'] })
  })

  test('R15 a filter that cannot be evaluated is told in the places of the input', async () => {
    const wrong = { condition: { attributeId: personas.scene.persona.uuid, comparison: 'IS_SET' } }
    const unknownValue = {
      condition: {
        attributeId: personas.scene.attribute.uuid,
        comparison: 'IN',
        valueIds: [personas.scene.value.uuid, personas.scene.persona.uuid],
      },
    }
    const filter = { and: [personas.everybody(), { not: wrong }, { or: [unknownValue] }] }
    const answer = await personas.ask(CREATE_PERSONA, { input: { name: 'R15', filter } })
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
    const reader = { ...personas.scene.as, subject: 'reader', roles: ['reader'] }
    const input = { name: 'R15', filter: personas.everybody() }
    const refused = await api.ask(reader, CREATE_PERSONA, { input })
    expect(refused.data?.['createPersona']).toMatchObject({ __typename: 'ForbiddenError', code: 'FORBIDDEN' })
    const nobody = { ...personas.scene.as, roles: [] }
    expect(codeOf(await api.ask(nobody, '{ personas { nodes { id } } }'))).toBe('FORBIDDEN')
    expect(
      codeOf(await api.ask(nobody, 'query($id: ID!) { node(id: $id) { id } }', { id: personas.scene.persona.id })),
    ).toBe('FORBIDDEN')
  })

  test('R31 a version that has moved is a conflict that tells where it is now', async () => {
    const { id: personaId } = await personas.persona('R31')
    const answer = await personas.ask(UPDATE, { input: { personaId, expectedRevision: 7, name: 'R31 late' } })
    expect(answer.data?.['updatePersona']).toMatchObject({ __typename: 'ConflictError', currentVersion: 1 })
  })

  test('R31 so is a draft that was edited meanwhile', async () => {
    const source = `mutation($id: UUID!, $revision: Int!) {
      removeOrgModelAttribute(input: { attributeId: $id, expectedContentRevision: $revision }) {
        __typename ... on ConflictError { code currentVersion }
      }
    }`
    const answer = await personas.ask(source, {
      id: personas.scene.attribute.uuid,
      revision: personas.scene.contentRevision + 5,
    })
    expect(answer.data?.['removeOrgModelAttribute']).toEqual({
      __typename: 'ConflictError',
      code: 'orgmodel.version.draft_changed',
      currentVersion: personas.scene.contentRevision,
    })
  })

  test('R38 without a token every root field says so, subscriptions too', async () => {
    for (const source of ['{ viewer { subject } }', '{ personas { nodes { id } } }']) {
      expect(codeOf(await api.ask(null, source))).toBe('UNAUTHENTICATED')
    }
    expect(codeOf(await api.ask(null, CREATE_PERSONA, { input: { name: 'R38', filter: personas.everybody() } }))).toBe(
      'UNAUTHENTICATED',
    )
  })
})

describe('lists', () => {
  const PAGE =
    'query($first: Int, $last: Int, $after: String, $before: String) { people(first: $first, last: $last, after: $after, before: $before) { nodes { externalId } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }'
  const page = async (args: Record<string, unknown>): Promise<Json> => (await personas.ask(PAGE, args)).data?.['people']

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
    for (const args of wrong)
      expect(codeOf(await personas.ask(PAGE, args)), JSON.stringify(args)).toBe('BAD_USER_INPUT')
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
    const { data } = await personas.ask('{ personas(first: 1) { edges { cursor node { name } } } }')
    const made = await personas.persona('AAA first of all')
    const [edge] = (await personas.ask('{ personas(first: 1) { edges { cursor node { id } } } }')).data!['personas']
      .edges
    expect(edge.node.id).toBe(made.id)
    await api.db.pool.query('delete from org_model_reference where source_id = $1', [made.uuid])
    await api.db.pool.query('delete from persona where id = $1', [made.uuid])
    const next = await personas.ask('query($after: String) { personas(first: 1, after: $after) { nodes { name } } }', {
      after: edge.cursor,
    })
    expect(next.data?.['personas'].nodes[0].name).toBe(data?.['personas'].edges[0].node.name)
    for (const after of [
      'zzz',
      Buffer.from('v1:{"id":"x"}').toString('base64url'),
      Buffer.from('v2:{}').toString('base64url'),
    ]) {
      expect(codeOf(await personas.ask(PAGE, { after })), after).toBe('BAD_USER_INPUT')
    }
  })

  test.each([
    ['personas', `{"name":"\\u0000","id":"${ANY_UUID}"}`],
    ['personas', '{"name":"a","id":"7"}'],
    ['people', `{"externalId":"\\u0000","id":"${ANY_UUID}"}`],
    ['orgModelVersions', '{"number":1.5}'],
    ['orgModelVersions', '{"number":99999999999}'],
    ['orgModelVersions', '{"number":1e999}'],
  ])('R24 a forged cursor of %s with what its column cannot hold is the caller’s mistake: %s', async (list, key) => {
    const source = `query($after: String) { ${list}(after: $after) { nodes { __typename } } }`
    const after = Buffer.from(`v1:${key}`).toString('base64url')
    expect(codeOf(await personas.ask(source, { after }))).toBe('BAD_USER_INPUT')
  })

  test('R25 lists are narrowed by what an operator looks for', async () => {
    const found = await personas.ask(
      '{ personas(filter: { nameContains: "FRONT", validity: VALID, isArchived: false }) { nodes { name } } }',
    )
    expect(found.data?.['personas'].nodes).toEqual([{ name: 'Front office' }])
    const versions = await personas.ask(
      '{ orgModelVersions(filter: { statuses: [ARCHIVED] }) { nodes { status number } } }',
    )
    expect(versions.data?.['orgModelVersions'].nodes).toEqual([{ status: 'ARCHIVED', number: 1 }])
  })

  test('R25 where something is used is asked by attribute or by value', async () => {
    const source =
      'query($attributeId: UUID, $valueId: UUID) { orgModelUsages(attributeId: $attributeId, valueId: $valueId) { nodes { sourceLabel path } } }'
    const { attribute, value } = personas.scene
    const used = await personas.ask(source, { valueId: value.uuid })
    expect(used.data?.['orgModelUsages'].nodes).toContainEqual({
      sourceLabel: 'Front office',
      path: '/filter/items/0/values/0',
    })
    const nodes = (await personas.ask(source, { attributeId: attribute.uuid })).data?.['orgModelUsages'].nodes
    expect(nodes.length).toBeGreaterThan(1)
    for (const both of [{}, { attributeId: attribute.uuid, valueId: value.uuid }]) {
      expect(codeOf(await personas.ask(source, both))).toBe('BAD_USER_INPUT')
    }
  })
})
