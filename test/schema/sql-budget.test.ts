import { beforeAll, expect, test } from 'vitest'
import { useApi } from './api.ts'
import { sceneIn, type Scene } from './scene.ts'

const api = useApi()
let scene: Scene

beforeAll(async () => {
  scene = await sceneIn(api, 'Budget')
})

interface Operation {
  readonly name: string
  readonly maxQueries: number
  readonly source: string
  readonly variables?: (scene: Scene) => Record<string, unknown>
}

// What each operation may cost in SQL statements, however many rows there are. A list that asks once per item breaks
// its budget as soon as there are two.
const OPERATIONS: readonly Operation[] = [
  { name: 'viewer', maxQueries: 0, source: '{ viewer { subject permissions } }' },
  { name: 'the cursor alone', maxQueries: 1, source: '{ eventCursor }' },
  { name: 'the active version', maxQueries: 1, source: '{ orgModelActive { id number status } }' },
  {
    name: 'a model with its attributes and values',
    maxQueries: 3,
    source: '{ orgModelActive { id attributes(first: 100) { nodes { key values(first: 100) { nodes { key } } } } } }',
  },
  {
    name: 'versions with all that hangs on each',
    maxQueries: 5,
    source: `{ orgModelVersions(first: 3) { totalCount nodes {
      id base { number }
      evaluation { blockingCount issues(first: 5) { nodes { key availableActions { actionType } resolution { status } } } }
      attributes(first: 10) { nodes { key values { nodes { key } } } }
      resolutions(first: 5) { nodes { id status } }
    } } }`,
  },
  {
    name: 'resolutions with their attempts',
    maxQueries: 2,
    source: '{ orgModelDraft { resolutions { nodes { id attempts { attempt errorCode } } } } }',
  },
  {
    name: 'people with what they hold',
    maxQueries: 1,
    source: '{ people(first: 12) { nodes { externalId values { attributeUuid valueUuid number } } } }',
  },
  { name: 'personas with their number', maxQueries: 2, source: '{ personas { totalCount nodes { name filter } } }' },
  {
    name: 'an audience',
    maxQueries: 6,
    source: 'query($id: ID!) { personaAudience(personaId: $id) { totalCount nodes { externalId } } }',
    variables: ({ persona }) => ({ id: persona.id }),
  },
  {
    name: 'an audience with what each person holds',
    maxQueries: 7,
    source: 'query($id: ID!) { personaAudience(personaId: $id) { nodes { externalId values { number valueUuid } } } }',
    variables: ({ persona }) => ({ id: persona.id }),
  },
  {
    name: 'nodes of one type',
    maxQueries: 1,
    source: 'query($ids: [ID!]!) { nodes(ids: $ids) { id ... on OrgModelVersion { number } } }',
    variables: ({ activeId, draftId }) => ({ ids: [activeId, draftId] }),
  },
  {
    name: 'where an attribute is used',
    maxQueries: 2,
    source: `query($id: UUID!) { orgModelUsages(attributeId: $id) { totalCount nodes {
      sourceKind sourceLabel sourceState path role valueUuid isNegated
    } } }`,
    variables: ({ attribute }) => ({ id: attribute.uuid }),
  },
  {
    name: 'a difference',
    maxQueries: 3,
    source: 'query($a: ID!, $b: ID!) { orgModelDiff(fromVersionId: $a, toVersionId: $b) { kind label } }',
    variables: ({ activeId, draftId }) => ({ a: activeId, b: draftId }),
  },
]

test.each(OPERATIONS.map((operation) => [operation.name, operation] as const))(
  'R48 SQL budget: %s',
  async (_name, { source, variables, maxQueries }) => {
    const { answer, sql } = await api.counted(scene.as, source, variables?.(scene))
    expect(answer.errors).toBeUndefined()
    expect(sql.length, sql.map((text) => text.replaceAll(/\s+/g, ' ').slice(0, 160)).join('\n')).toBeLessThanOrEqual(
      maxQueries,
    )
  },
)

test('R26 totalCount is counted only when it is selected', async () => {
  const { sql } = await api.counted(scene.as, '{ __typename people { __typename nodes { __typename id } } }')
  expect(sql.filter((text) => /count/i.test(text))).toEqual([])
  const counted = await api.counted(scene.as, '{ people { totalCount } }')
  expect(counted.answer.data?.['people'].totalCount).toBe(12)
})

test('R48 a query that costs too much is refused before any SQL, counted with its real variables', async () => {
  const source = `query($n: Int!) { people(first: $n) { nodes { values { text } } }
    orgModelVersions(first: $n) { nodes { resolutions(first: $n) { nodes { id } } } } }`
  const { answer, sql } = await api.counted(scene.as, source, { n: 100 })
  expect(answer.errors?.[0]?.extensions['code']).toBe('QUERY_TOO_COMPLEX')
  expect(answer.data).toBeNull()
  expect(sql).toEqual([])
  expect((await api.ask(scene.as, source, { n: 2 })).errors).toBeUndefined()
})

test('R48 without a token nothing is read', async () => {
  const { answer, sql } = await api.counted(
    { tenantId: null, subject: 'nobody', roles: [] },
    '{ people { nodes { id } } }',
  )
  expect(answer.errors?.[0]?.extensions['code']).toBe('UNAUTHENTICATED')
  expect(sql).toEqual([])
})
