import {
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
  isUnionType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
} from 'graphql'
import { beforeAll, describe, expect, test } from 'vitest'
import { schema } from '../../src/schema/index.ts'
import { OPERATOR, useApi, type Answer, type Asking } from './api.ts'
import { sceneIn, type Scene } from './scene.ts'

// Every argument and input field that takes an id, at whatever depth, is found by walking the built schema and tried
// with the id of another tenant's thing while everything else in the call is our own. A new one needs no line here;
// one for which no foreign id is known fails the last test of this file.

const api = useApi()
let ours: Scene
let theirs: Scene

beforeAll(async () => {
  ours = await sceneIn(api, 'Ours')
  theirs = await sceneIn(api, 'Theirs')
})

interface Case {
  readonly root: 'query' | 'mutation'
  readonly field: GraphQLField<unknown, unknown>
  /** From the argument down to the id. */
  readonly path: readonly string[]
  readonly place: GraphQLArgument | GraphQLInputField
}

const IDS = new Set(['ID', 'UUID'])
const MOST_DEPTH = 6

function cases(root: 'query' | 'mutation'): Case[] {
  const type = root === 'query' ? schema.getQueryType()! : schema.getMutationType()!
  // What is the operators' own has a matrix of its own: test/schema/jobs-access.test.ts.
  const fields = Object.values(type.getFields()).filter(({ extensions }) => extensions['operated'] === undefined)
  return fields.flatMap((field) =>
    field.args.flatMap((arg) => idsIn(arg, [arg.name]).map(({ path, place }) => ({ root, field, path, place }))),
  )
}

function idsIn(place: GraphQLArgument | GraphQLInputField, path: readonly string[]): Pick<Case, 'path' | 'place'>[] {
  const type = getNamedType(place.type)
  if (IDS.has(type.name)) return [{ path, place }]
  if (!isInputObjectType(type) || path.length > MOST_DEPTH) return []
  // A filter is a tree of itself: one level of it stands for all.
  const entered = path.filter((name) => name === path.at(-1)).length > 1
  if (entered) return []
  return Object.values(type.getFields()).flatMap((field) => idsIn(field, [...path, field.name]))
}

/** What the other tenant calls the thing that this place is for. */
function foreign({ place, path, field }: Case): unknown {
  const idOf = place.extensions['idOf'] as string | undefined
  const name = path.at(-1)!
  const byType: Record<string, string> = {
    OrgModelVersion: field.name === 'submitOrgModelResolutions' ? theirs.draftId : theirs.activeId,
    OrgModelResolution: theirs.resolutionId,
    Persona: theirs.persona.id,
    Person: theirs.personId,
    Tenant: theirs.tenantNodeId,
  }
  if (idOf !== undefined) return byType[idOf]
  if (field.name === 'node') return theirs.persona.id
  if (field.name === 'nodes') return [theirs.persona.id, theirs.personId, theirs.activeId, theirs.resolutionId]
  if (/attribute/i.test(name)) return theirs.attribute.uuid
  if (name.endsWith('valueIds')) return [theirs.value.uuid]
  if (/value/i.test(name)) return theirs.value.uuid
  return undefined
}

/** Our own values for everything that a call must have besides. */
function own(field: GraphQLField<unknown, unknown>, name: string, type: GraphQLInputType): unknown {
  const named = getNamedType(type)
  const ids: Record<string, unknown> = {
    attributeId: ours.attribute.uuid,
    valueId: ours.value.uuid,
    personaId: ours.persona.id,
    personId: ours.personId,
    resolutionId: ours.resolutionId,
    fromVersionId: ours.activeId,
    toVersionId: ours.draftId,
    tenantId: ours.tenantNodeId,
  }
  if (name in ids) return ids[name]
  if (name === 'expectedContentRevision') return ours.contentRevision
  if (name === 'expectedRevision') return ours.persona.revision
  if (isListType(getNullableType(type))) return [own(field, `${name}Item`, named)]
  if (isEnumType(named)) return named.getValues()[0]!.name
  if (isInputObjectType(named)) return filled(field, named.name, [])
  if (isScalarType(named))
    return { Int: 1, Float: 1, Boolean: true, JSONObject: {}, JSON: {} }[named.name] ?? 'Something'
  return undefined
}

function filled(
  field: GraphQLField<unknown, unknown>,
  typeName: string,
  path: readonly string[],
): Record<string, unknown> {
  if (typeName === 'PersonaFilterInput' && path.length === 0) {
    return { condition: { attributeId: ours.attribute.uuid, comparison: 'IS_SET' } }
  }
  const type = schema.getType(typeName)
  if (!isInputObjectType(type)) throw new Error(`${typeName} is no input.`)
  const required = Object.values(type.getFields()).filter((each) => isNonNullType(each.type) && each.name !== path[0])
  return Object.fromEntries(required.map((each) => [each.name, own(field, each.name, each.type)]))
}

/** The arguments of the call: our own, but for the foreign id at the place in question. */
function argumentsOf(one: Case): Record<string, unknown> {
  const { field, path } = one
  const args: Record<string, unknown> = Object.fromEntries(
    field.args
      .filter((arg) => isNonNullType(arg.type) && arg.name !== path[0])
      .map((arg) => [arg.name, own(field, arg.name, arg.type)]),
  )
  const [first, ...rest] = path
  const arg = field.args.find(({ name }) => name === first)!
  return { ...args, [first!]: at(one, arg.type, rest) }
}

function at(one: Case, type: GraphQLInputType, path: readonly string[]): unknown {
  const named = getNamedType(type)
  const isList = isListType(getNullableType(type))
  if (path.length === 0) return foreign(one)
  if (!isInputObjectType(named)) throw new Error(`${one.path.join('.')} leads nowhere.`)
  const [next, ...rest] = path
  const inner = at(one, named.getFields()[next!]!.type, rest)
  const others = named.isOneOf ? {} : filled(one.field, named.name, path)
  const comparison = named.name === 'PersonaConditionInput' ? { comparison: next === 'valueIds' ? 'IN' : 'IS_SET' } : {}
  const value = { ...others, ...comparison, [next!]: inner }
  return isList ? [value] : value
}

async function call(as: Asking, { root, field, ...one }: Case): Promise<Answer> {
  const args = argumentsOf({ root, field, ...one })
  const declared = field.args.filter(({ name }) => name in args)
  const result = getNamedType(field.type)
  const selection = isUnionType(result)
    ? '{ __typename ... on UserError { code message } }'
    : result.name.endsWith('Connection')
      ? '{ nodes { __typename } }'
      : isObjectType(result) || result.name === 'Node'
        ? '{ __typename }'
        : ''
  const source = `${root} Try(${declared.map(({ name, type }) => `$${name}: ${String(type)}`).join(', ')}) {
    result: ${field.name}(${declared.map(({ name }) => `${name}: $${name}`).join(', ')}) ${selection}
  }`
  return api.ask(as, source, args)
}

const DENIED = new Set([
  'NotFoundError',
  'ForbiddenError',
  'ConflictError',
  'ValidationError',
  'PersonaFilterInvalidError',
  'OrgModelResolutionsInvalidError',
])

async function everythingOf(tenantId: string): Promise<string> {
  const tables = await api.db.pool.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relkind = 'r' and a.attname = 'tenant_id' and not a.attisdropped and c.relnamespace = 'public'::regnamespace
     order by 1`,
  )
  const states = []
  for (const { name } of tables.rows) {
    const { rows } = await api.db.pool.query(
      `select md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as state from ${name} t where tenant_id = $1`,
      [tenantId],
    )
    states.push(`${name} ${rows[0].state}`)
  }
  return states.join('\n')
}

const queries = cases('query')
const changes = cases('mutation').filter(({ field }) => field.name !== 'revokeMembership')
const nameOf = ({ field, path }: Case) => `${field.name}(${path.join('.')})`

describe('R10 another tenant’s id does not exist', () => {
  test.each(queries.map((one) => [nameOf(one), one] as const))('R10 query %s', async (_name, one) => {
    const answer = await call(ours.as, one)
    expect(answer.errors).toBeUndefined()
    const found: unknown = answer.data?.['result']
    const result: unknown = (found as { nodes?: unknown } | null)?.nodes ?? found
    expect(Array.isArray(result) ? result.filter((item) => item !== null) : (result ?? [])).toEqual([])
  })

  test.each(changes.map((one) => [nameOf(one), one] as const))('R10 mutation %s', async (_name, one) => {
    const [before, beforeOurs] = [await everythingOf(theirs.as.tenantId!), await everythingOf(ours.as.tenantId!)]
    const answer = await call(ours.as, one)
    expect(answer.errors).toBeUndefined()
    const result = answer.data?.['result'] as { __typename: string; code?: string }
    expect(DENIED, JSON.stringify(result)).toContain(result.__typename)
    expect(result.code).not.toBe('FORBIDDEN')
    expect(await everythingOf(theirs.as.tenantId!)).toBe(before)
    expect(await everythingOf(ours.as.tenantId!)).toBe(beforeOurs)
  })

  test('R10 an operator’s mutation is for operators, whatever tenant it names', async () => {
    const revoke = cases('mutation').find(({ field }) => field.name === 'revokeMembership')!
    const before = await everythingOf(theirs.as.tenantId!)
    const answer = await call(ours.as, revoke)
    expect(answer.errors?.[0]?.extensions['code']).toBe('FORBIDDEN')
    expect(await everythingOf(theirs.as.tenantId!)).toBe(before)
  })

  test('R10 an operator without a tenant has no rows to read', async () => {
    const answer = await api.ask(OPERATOR, '{ orgModelActive { id } }')
    expect(answer.errors?.[0]?.extensions['code']).toBe('UNAUTHENTICATED')
  })

  test('R10 the matrix knows a foreign id for every place that takes one', () => {
    const all = [...queries, ...cases('mutation')]
    expect(all.filter((one) => foreign(one) === undefined).map(nameOf)).toEqual([])
    expect(all.length).toBeGreaterThan(25)
  })
})
