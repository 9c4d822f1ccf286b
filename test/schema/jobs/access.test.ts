import {
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  isInterfaceType,
  isUnionType,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLObjectType,
} from 'graphql'
import { beforeAll, describe, expect, test } from 'vitest'
import { encodeId, type IdType } from '../../../src/schema/id.ts'
import { schema } from '../../../src/schema/index.ts'
import { OPERATOR, useApi, type Asking } from '../api.ts'

// The operators' fields are found by walking the built schema: a new one needs no line here.

const api = useApi()
let tenant: Asking

beforeAll(async () => {
  tenant = await api.tenant('Access')
})

const ROOTS = {
  query: schema.getQueryType()!,
  mutation: schema.getMutationType()!,
  subscription: schema.getSubscriptionType()!,
}
type Root = keyof typeof ROOTS
type Field = GraphQLField<unknown, unknown>

const isOperated = ({ extensions }: Field) => extensions['operated'] !== undefined
const operated = (Object.entries(ROOTS) as [Root, GraphQLObjectType][]).flatMap(([root, type]) =>
  Object.values(type.getFields())
    .filter(isOperated)
    .map((field) => [`${root} ${field.name}`, root, field] as const),
)

const UUID = '0193a000-0000-7000-8000-000000000001'

/** Something that passes for a value of the type. */
function sample(type: GraphQLInputType, extensions: Readonly<Record<string, unknown>>): unknown {
  const named = getNamedType(type)
  if (isListType(getNullableType(type))) return []
  if (isEnumType(named)) return named.getValues()[0]!.name
  if (isInputObjectType(named))
    return Object.fromEntries(
      Object.values(named.getFields())
        .filter((field) => isNonNullType(field.type))
        .map((field) => [field.name, sample(field.type, field.extensions)]),
    )
  if (named.name === 'ID') return encodeId(extensions['idOf'] as IdType, UUID)
  return { Int: 1, Boolean: true, UUID }[named.name] ?? 'Something'
}

function operationOf(root: Root, field: Field): { source: string; variables: Record<string, unknown> } {
  const args = field.args.filter(({ name, type }) => isNonNullType(type) || name === 'id')
  const named = getNamedType(field.type)
  const selection = isObjectType(named) || isUnionType(named) || isInterfaceType(named) ? '{ __typename }' : ''
  const declared = args.map(({ name, type }) => `$${name}: ${String(type)}`).join(', ')
  const passed = args.map(({ name }) => `${name}: $${name}`).join(', ')
  const source = `${root} Try${declared === '' ? '' : `(${declared})`} {
    ${field.name}${passed === '' ? '' : `(${passed})`} ${selection} }`
  return { source, variables: Object.fromEntries(args.map((arg) => [arg.name, sample(arg.type, arg.extensions)])) }
}

async function codeOf(as: Asking | null, root: Root, field: Field): Promise<unknown> {
  const { source, variables } = operationOf(root, field)
  if (root === 'subscription' && as !== null) {
    const stream = await api.follow(as, source, variables)
    const { value } = await stream.next()
    await stream.return?.()
    return value?.errors?.[0]?.extensions?.code
  }
  const { errors } = await api.ask(as, source, variables)
  return errors?.[0]?.extensions['code']
}

async function everything(): Promise<string> {
  const tables = await api.db.pool.query<{ name: string }>(
    `select relname as name from pg_class
     where relkind = 'r' and relnamespace = 'public'::regnamespace and relname <> '_prisma_migrations' order by 1`,
  )
  const states: string[] = []
  for (const { name } of tables.rows) {
    const { rows } = await api.db.pool.query(
      `select md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as state from ${name} t`,
    )
    states.push(`${name} ${rows[0].state}`)
  }
  return states.join('\n')
}

describe('J71 J73 J77 J100 the operators’ part of the API', () => {
  test('J71 is more than a few fields, and every one of them says so', () => {
    expect(operated.length).toBeGreaterThan(20)
    for (const [, , { description }] of operated) expect(description).toContain('For operators.')
  })

  test.each(operated)(
    'J71 J72 J75 %s is refused to every role of a tenant, and does nothing',
    async (_name, root, field) => {
      const before = await everything()
      for (const role of ['reader', 'editor', 'administrator'])
        expect(await codeOf({ ...tenant, roles: [role] }, root, field)).toBe('FORBIDDEN')
      expect(await everything()).toBe(before)
    },
  )

  test.each(operated.filter(([, root]) => root !== 'subscription'))(
    'R38 %s is refused without a token',
    async (_name, root, field) => {
      expect(await codeOf(null, root, field)).toBe('UNAUTHENTICATED')
    },
  )

  test.each(operated)(
    'J73 %s is open to an operator, with a tenant in the token or without',
    async (_name, root, field) => {
      for (const as of [OPERATOR, { ...tenant, roles: ['operator'] }, { ...tenant, roles: ['operator', 'reader'] }])
        expect(await codeOf(as, root, field)).toBeUndefined()
    },
  )

  test('J77 nothing that only operators may see can be reached from a field that tenants may ask', () => {
    const theirs = reachable((field) => !isOperated(field))
    const ours = reachable(isOperated)
    const only = [...ours].filter((name) => !theirs.has(name))
    expect(only).toEqual(expect.arrayContaining(['OperatedJob', 'JobAttempt', 'OperatorAct', 'JobBatch', 'JobChanged']))
    const shared = [...ours].filter((name) => theirs.has(name) && isObjectType(schema.getType(name)))
    // What both may see holds nothing of a job.
    expect(shared.toSorted()).toEqual([
      'ConflictError',
      'ForbiddenError',
      'NotFoundError',
      'PageInfo',
      'StreamCaughtUp',
      'ValidationError',
    ])
  })

  test('J77 an id of a job opens nothing through `node`, for nobody', async () => {
    const id = encodeId('OperatedJob', UUID)
    for (const as of [tenant, { ...tenant, roles: ['operator'] }]) {
      const { data, errors } = await api.ask(as, 'query($id: ID!) { node(id: $id) { id } }', { id })
      expect([data, errors]).toEqual([{ node: null }, undefined])
    }
  })
})

/** The object types that an answer of such root fields can hold. */
function reachable(wanted: (field: Field) => boolean): Set<string> {
  const found = new Set<string>()
  const enter = (type: GraphQLNamedType): void => {
    if (found.has(type.name)) return
    found.add(type.name)
    if (isUnionType(type)) for (const member of type.getTypes()) enter(member)
    if (isObjectType(type)) for (const field of Object.values(type.getFields())) enter(getNamedType(field.type))
  }
  for (const root of Object.values(ROOTS))
    for (const field of Object.values(root.getFields()).filter(wanted)) enter(getNamedType(field.type))
  return found
}
