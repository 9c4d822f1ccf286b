import { readdirSync, readFileSync } from 'node:fs'
import { complexityFromQuery } from '@pothos/plugin-complexity'
import {
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isRequiredInputField,
  Kind,
  parse,
  typeFromAST,
  validate,
  visit,
  type DocumentNode,
  type GraphQLInputType,
  type OperationDefinitionNode,
} from 'graphql'
import { describe, expect, test } from 'vitest'
import { MOST_COMPLEXITY, MOST_DEPTH, schema } from '../../src/schema/index.ts'

const folder = new URL('../../client/src/operations/', import.meta.url)
const source = readdirSync(folder)
  .map((name) => readFileSync(new URL(name, folder), 'utf8'))
  .join('\n')
const all = parse(source)
const fragments = all.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION)
const operations = all.definitions.filter(
  (each): each is OperationDefinitionNode => each.kind === Kind.OPERATION_DEFINITION,
)

/** The operation with the fragments that it uses. */
function documentOf(operation: OperationDefinitionNode): DocumentNode {
  const used = new Set<string>()
  const collect = (node: (typeof all.definitions)[number]): void => {
    visit(node, {
      FragmentSpread: ({ name }) => {
        const fragment = fragments.find((each) => 'name' in each && each.name?.value === name.value)
        if (used.has(name.value) || fragment === undefined) return
        used.add(name.value)
        collect(fragment)
      },
    })
  }
  collect(operation)
  const needed = fragments.filter((each) => 'name' in each && used.has(each.name!.value))
  return { kind: Kind.DOCUMENT, definitions: [operation, ...needed] }
}

describe.each(operations.map((operation) => [operation.name!.value, operation] as const))('%s', (_name, operation) => {
  const document = documentOf(operation)

  test(`R57 ${operation.name!.value} is valid and fits what one operation may cost, with pages of a hundred`, () => {
    expect(validate(schema, document)).toEqual([])
    const variables = Object.fromEntries(
      (operation.variableDefinitions ?? [])
        .map(({ variable, type }) => [variable.name.value, typeFromAST(schema, type as never)] as const)
        .filter(([name, type]) => name === 'first' || isNonNullType(type))
        .map(([name, type]) => [name, name === 'first' ? 100 : sampleOf(type as GraphQLInputType)]),
    )
    const { complexity, depth } = complexityFromQuery(document, { schema, variables })
    expect(complexity).toBeLessThanOrEqual(MOST_COMPLEXITY)
    expect(depth).toBeLessThanOrEqual(MOST_DEPTH)
  })

  test(`R15 R34 ${operation.name!.value} selects what keeps working when the schema grows`, () => {
    const text = operation.loc!.source.body.slice(operation.loc!.start, operation.loc!.end)
    if (operation.operation === 'mutation') expect(text).toContain('...UserErrorFields')
    // What is no log but a state gives the newest of it and has no place to go on from.
    const isState = text.includes('jobCountsChanged')
    if (operation.operation === 'subscription' && !isState) expect(text).toMatch(/\.\.\. on StreamItem \{\s+cursor/)
  })
})

/** The least that an input of this type can be. */
function sampleOf(type: GraphQLInputType): unknown {
  const inner = getNullableType(type)
  if (isListType(inner)) return []
  if (isEnumType(inner)) return inner.getValues()[0]!.name
  if (isInputObjectType(inner)) {
    const fields = Object.values(inner.getFields())
    const [first] = fields
    if (inner.isOneOf) return { [first!.name]: sampleOf(first!.type) }
    return Object.fromEntries(fields.filter(isRequiredInputField).map((field) => [field.name, sampleOf(field.type)]))
  }
  return { Int: 1, UUID: '0190a000-0000-7000-8000-000000000001', JSONObject: {} }[getNamedType(inner).name] ?? 'x'
}
