import { readFileSync } from 'node:fs'
import {
  buildSchema,
  findBreakingChanges,
  findDangerousChanges,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
  isUnionType,
  type GraphQLField,
  type GraphQLNamedType,
} from 'graphql'
import { describe, expect, test } from 'vitest'
import { ID_TAGS, encodeId, readId } from '../../src/schema/id.ts'
import { API_ERROR_CODES, schema } from '../../src/schema/index.ts'
import { printedSchema } from '../../src/schema/printed-schema.ts'
import { resolutionLifecycle, versionLifecycle } from '../../src/domain/organisation/index.ts'

const types = Object.values(schema.getTypeMap()).filter((type) => !isIntrospectionType(type))
const fieldsOf = (type: GraphQLNamedType): GraphQLField<unknown, unknown>[] =>
  isObjectType(type) || isInterfaceType(type) ? Object.values(type.getFields()) : []
const mutations = fieldsOf(schema.getMutationType()!)
const file = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const capitalized = (name: string) => name.charAt(0).toUpperCase() + name.slice(1)

describe('names', () => {
  test('R1 types are PascalCase, fields and arguments camelCase, enum values SCREAMING_SNAKE', () => {
    const BUILT_IN = /^(ID|Int|Float|String|Boolean|UUID|JSON|JSONObject)$/
    for (const type of types) {
      if (!BUILT_IN.test(type.name)) expect(type.name).toMatch(/^([A-Z][a-z]+)+$/)
      expect(type.name).not.toMatch(/((?<!Data)Type|Dto|Model)$/)
      for (const field of fieldsOf(type)) {
        expect(field.name).toMatch(/^[a-z]+([A-Z][a-z]*)*$/)
        for (const arg of field.args) expect(arg.name).toMatch(/^[a-z]+([A-Z][a-z]*)*$/)
      }
      if (isEnumType(type)) for (const { name } of type.getValues()) expect(name).toMatch(/^[A-Z]+(_[A-Z]+)*$/)
    }
  })

  test('R2 a mutation is a verb and a noun, and no verb is a general change of status', () => {
    const verbs = new Set(mutations.map(({ name }) => /^[a-z]+/.exec(name)![0]))
    expect([...verbs].toSorted((a, b) => a.localeCompare(b))).toEqual([
      'activate',
      'add',
      'archive',
      'cancel',
      'create',
      'discard',
      'erase',
      'evaluate',
      'hold',
      'import',
      'mark',
      'pause',
      'perform',
      'release',
      'remove',
      'resume',
      'retry',
      'revoke',
      'run',
      'submit',
      'update',
      'upsert',
    ])
    for (const { args } of mutations) {
      const input = getNamedType(args[0]?.type)
      if (isInputObjectType(input)) expect(Object.keys(input.getFields())).not.toContain('status')
    }
  })

  test('R3 a mutation takes one `input` of its own name and answers with a union of its own name', () => {
    for (const { name, args, type } of mutations) {
      const result = getNamedType(type)
      expect(result.name).toBe(`${capitalized(name)}Result`)
      expect(isUnionType(result) && result.getTypes().map((member) => member.name)).toContain(
        `${capitalized(name)}Success`,
      )
      expect(args.map((arg) => arg.name)).toEqual(name === 'evaluateOrgModelDraft' ? [] : ['input'])
      for (const arg of args) expect(String(arg.type)).toBe(`${capitalized(name)}Input!`)
    }
  })

  test('R4 no type has the name of a field that happens to use it', () => {
    for (const { name } of types) expect(name).not.toMatch(/^(Query|Mutation|Subscription)[A-Z]/)
  })

  test('R5 booleans are predicates, moments end in At, durations in Ms, counts in Count', () => {
    for (const type of types) {
      for (const field of fieldsOf(type)) {
        const { name } = getNamedType(field.type)
        const at = `${type.name}.${field.name}`
        if (name === 'Boolean' && field.name !== 'boolean') expect(at).toMatch(/\.(is|has|can)[A-Z]/)
        if (name === 'DateTime') expect(at).toMatch(/At$/)
        if (name === 'Int' && /duration/i.test(field.name)) expect(at).toMatch(/Ms$/)
      }
    }
  })

  test('R7 R32 a success carries what changed and the place in the log', () => {
    for (const type of types.filter(({ name }) => name.endsWith('Success'))) {
      const fields = fieldsOf(type).map(({ name }) => name)
      expect(fields).toContain('eventCursor')
      expect(fields.length).toBeGreaterThan(1)
    }
  })
})

describe('ids', () => {
  test('R8 the tags are frozen: clients keep ids for years', () => {
    expect(ID_TAGS).toEqual({
      Tenant: 'ten',
      OrgModelVersion: 'omv',
      OrgModelResolution: 'omr',
      Persona: 'psn',
      Person: 'prs',
      OperatedJob: 'job',
      JobBatch: 'jbt',
    })
    expect(encodeId('Persona', '0190a000-0000-7000-8000-000000000001')).toBe('cHNuAZCgAAAAcACAAAAAAAAAAQ')
  })

  test('R8 an id has one spelling, and nothing else is an id', () => {
    const id = encodeId('Persona', '0190a000-0000-7000-8000-000000000001')
    expect(readId(id)).toEqual({ type: 'Persona', uuid: '0190a000-0000-7000-8000-000000000001' })
    for (const other of [
      `${id}=`,
      ` ${id}`,
      id.slice(1),
      `${id}A`,
      '',
      'xxx',
      id.replace('c', 'd'),
      id.toLowerCase(),
    ]) {
      expect(readId(other)).toBeNull()
    }
  })

  test('R8 whatever is a Node also tells its bare UUID', () => {
    for (const type of types) {
      if (isObjectType(type) && type.getInterfaces().some(({ name }) => name === 'Node')) {
        expect(fieldsOf(type).map(({ name }) => name)).toContain('uuid')
        expect(Object.keys(ID_TAGS)).toContain(type.name)
      }
    }
  })
})

describe('nullability', () => {
  test('R11 a list and its items are never null, but where a thing that has them may be absent', () => {
    const MAY_BE_NULL = new Set([
      'Query.nodes',
      'Query.orgModelDiff',
      'ConflictError.path',
      'ForbiddenError.path',
      'UserError.path',
    ])
    for (const type of types) {
      for (const field of fieldsOf(type)) {
        const at = `${type.name}.${field.name}`
        const list = isNonNullType(field.type) ? field.type.ofType : field.type
        if (!isListType(list) || MAY_BE_NULL.has(at) || at.endsWith('Error.path')) continue
        expect(isNonNullType(field.type), at).toBe(true)
        expect(isNonNullType(list.ofType), at).toBe(true)
      }
    }
  })

  test('R13 a mutation may be null, so that a failure of the second does not hide what the first did', () => {
    for (const { type } of mutations) expect(isNonNullType(type)).toBe(false)
  })
})

describe('errors', () => {
  test('R15 every outcome but the success is a UserError with message, code and path', () => {
    const userError = schema.getType('UserError')
    expect(String(isInterfaceType(userError) && userError.getFields()['code']?.type)).toBe('String!')
    for (const { type } of mutations) {
      const result = getNamedType(type)
      for (const member of isUnionType(result) ? result.getTypes() : []) {
        const isError = member.getInterfaces().some(({ name }) => name === 'UserError')
        expect(isError, member.name).toBe(!member.name.endsWith('Success'))
      }
    }
  })

  test('R16 the list of codes is closed, and docs/api.md explains each', () => {
    const explained = [...file('docs/api.md').matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, code]) => code)
    expect(explained).toEqual([...API_ERROR_CODES])
  })
})

describe('descriptions', () => {
  test('R27 every type, field, argument, input field and enum value says what it is', () => {
    const silent: string[] = []
    const check = (at: string, description: string | null | undefined) => {
      if (description == null || description.trim() === '') silent.push(at)
    }
    for (const type of types) {
      check(type.name, type.description)
      for (const field of fieldsOf(type)) {
        check(`${type.name}.${field.name}`, field.description)
        for (const arg of field.args) check(`${type.name}.${field.name}(${arg.name}:)`, arg.description)
      }
      if (isInputObjectType(type)) {
        for (const field of Object.values(type.getFields())) check(`${type.name}.${field.name}`, field.description)
      }
      if (isEnumType(type)) for (const value of type.getValues()) check(`${type.name}.${value.name}`, value.description)
    }
    expect(silent).toEqual([])
  })

  test('R20 the enum of a lifecycle says what the lifecycle says', () => {
    const enums = { OrgModelVersionStatus: versionLifecycle, OrgModelResolutionStatus: resolutionLifecycle }
    for (const [name, { statuses }] of Object.entries(enums)) {
      const type = schema.getType(name)
      const values = isEnumType(type) ? type.getValues() : []
      expect(values.map((value) => value.name).toSorted()).toEqual(Object.keys(statuses).toSorted())
      for (const value of values) {
        const status = (statuses as Record<string, { description: string }>)[value.name]
        expect(value.description).toContain(status?.description)
      }
    }
  })

  test('R6 R23 the size of every list that is asked for is bounded and said', () => {
    for (const type of types) {
      for (const field of fieldsOf(type)) {
        if (!getNamedType(field.type).name.endsWith('Connection')) continue
        const first = field.args.find(({ name }) => name === 'first')
        expect(first?.description, `${type.name}.${field.name}`).toContain('1 to 100')
      }
    }
  })

  test('R21 every scalar of ours says its form, those with a standard point to it', () => {
    const ours = types.filter((type) => isScalarType(type) && !/^(ID|Int|Float|String|Boolean)$/.test(type.name))
    const standards = ours.filter((type) => isScalarType(type) && type.specifiedByURL != null).map(({ name }) => name)
    expect(standards.toSorted()).toEqual(['Date', 'DateTime', 'JSON', 'JSONObject', 'UUID'])
    for (const type of ours) expect(isLeafType(type) && type.description?.length).toBeGreaterThan(20)
  })

  test('R22 money and ids are no floats', () => {
    for (const type of types) {
      for (const field of fieldsOf(type)) {
        if (getNamedType(field.type).name === 'Float') expect(`${type.name}.${field.name}`).toBe('PersonValue.number')
      }
    }
  })
})

describe('evolution', () => {
  test('R29 schema.graphql is what the code says', () => {
    expect(printedSchema(schema) === file('schema.graphql'), 'Run `npm run schema` and commit schema.graphql.').toBe(
      true,
    )
  })

  test('R29 what breaks clients of the last release is announced in docs/schema-changes.md', () => {
    const released = buildSchema(file('docs/schema-released.graphql'))
    const announced = file('docs/schema-changes.md')
    const changes = [...findBreakingChanges(released, schema), ...findDangerousChanges(released, schema)]
    const silent = changes
      .map(({ description }) => description)
      .filter((description) => !announced.includes(description))
    expect(silent, 'Announce these, word for word, in docs/schema-changes.md.').toEqual([])
  })

  test('R29 a break that nobody announced would be found', () => {
    const broken = buildSchema(
      file('docs/schema-released.graphql').replace('orgModelDraft: OrgModelVersion', 'draft: Int'),
    )
    expect(findBreakingChanges(buildSchema(file('docs/schema-released.graphql')), broken)).not.toEqual([])
  })

  test('R28 what is deprecated says what to use and until when', () => {
    for (const type of types) {
      for (const field of fieldsOf(type)) {
        if (field.deprecationReason != null)
          expect(field.deprecationReason).toMatch(/^Use .+ Removed after \d{4}-\d{2}-\d{2}\.$/)
      }
    }
  })
})
