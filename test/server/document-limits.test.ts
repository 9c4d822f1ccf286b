import fc from 'fast-check'
import { getIntrospectionQuery, parse } from 'graphql'
import { expect, test } from 'vitest'
import { brokenLimit } from '../../src/server/document-limits.ts'
import { DEFAULT_LIMITS } from '../../src/server/limits.ts'
import { Metrics } from '../../src/server/metrics.ts'
import { Operations } from '../../src/server/operations.ts'
import { makeFixture } from './fixture-schema.ts'
import { useFixtureServer } from './fixture-server.ts'

const start = useFixtureServer()

test('R48 a document that passed is parsed once; a long one is not kept', () => {
  const operations = new Operations({
    schema: makeFixture().schema,
    context: () => ({}),
    limits: DEFAULT_LIMITS,
    introspection: true,
    requireOperationName: false,
    deadlineMs: 1_000,
    metrics: new Metrics(),
  })
  const isKept = (source: string) => {
    const document = operations.parse(source)
    expect(operations.validate(document)).toEqual([])
    return operations.parse(source) === document
  }
  expect(isKept('{ hello }')).toBe(true)
  expect(isKept(`{ hello } # ${'x'.repeat(20_000)}`)).toBe(false)
})

const limitOf = (query: string) => brokenLimit(parse(query), DEFAULT_LIMITS)?.limit ?? null
const nested = (levels: number, name = 'next') => `${`${name} { `.repeat(levels)}name${' }'.repeat(levels)}`

test('R48 each limit holds exactly at its number', () => {
  expect(limitOf(`{ ${nested(11)} }`)).toBeNull()
  expect(limitOf(`{ ${nested(12)} }`)).toBe('depth')
  const aliases = (count: number) => `{ node { ${Array.from({ length: count }, (_, n) => `a${n}: name`).join(' ')} } }`
  expect(limitOf(aliases(30))).toBeNull()
  expect(limitOf(aliases(31))).toBe('aliases')
  expect(limitOf(`{ ${'hello '.repeat(20)} }`)).toBeNull()
  expect(limitOf(`{ ${'hello '.repeat(21)} }`)).toBe('rootFields')
  expect(limitOf(`{ hello ${'@x '.repeat(20)} }`)).toBeNull()
  expect(limitOf(`{ hello ${'@x '.repeat(21)} }`)).toBe('directives')
  expect(limitOf(`{ node { ${'name '.repeat(999)} } }`)).toBeNull()
  expect(limitOf(`{ node { ${'name '.repeat(1_000)} } }`)).toBe('fields')
})

test('R48 directives count wherever they stand', () => {
  const many = '@x '.repeat(21)
  for (const query of [
    `query ${many} { hello }`,
    `query ($a: Int ${many}) { hello }`,
    `{ ... ${many} { hello } }`,
    `{ ...F ${many} } fragment F on Query { hello }`,
    `{ ...F } fragment F on Query ${many} { hello }`,
    `{ hello } fragment Unused on Query { hello ${many} }`,
  ])
    expect(limitOf(query), query).toBe('directives')
})

test('R48 fragments count where they are spread, root fields in fragments too', () => {
  expect(limitOf(`{ ${'...F '.repeat(3)} } fragment F on Query { ${'hello '.repeat(7)} }`)).toBe('rootFields')
  expect(
    limitOf(
      `{ node { ${'...F '.repeat(4)} } } fragment F on Node { a: name b: name c: name d: name e: name f: name g: name h: name }`,
    ),
  ).toBe('aliases')
  expect(limitOf(`{ node { ...F } } fragment F on Node { ${nested(11)} }`)).toBe('depth')
})

test('R48 an object’s fragment may hold more fields than the root may', () => {
  expect(limitOf(`{ node { ...F } } fragment F on Node { ${'name '.repeat(100)} }`)).toBeNull()
})

test('R48 a fragment or a field that is called __schema gets no exemption', () => {
  expect(limitOf(`{ ...__schema } fragment __schema on Query { ${nested(12)} }`)).toBe('depth')
  expect(limitOf(`{ node { __schema: ${nested(11)} } }`)).toBe('depth')
  expect(limitOf(`{ node { ${nested(12, '__schema')} } }`)).toBe('depth')
})

test('R48 the introspection that tools send passes', () => {
  const everything = {
    descriptions: true,
    specifiedByUrl: true,
    directiveIsRepeatable: true,
    inputValueDeprecation: true,
    oneOf: true,
    schemaDescription: true,
  }
  expect(limitOf(getIntrospectionQuery(everything))).toBeNull()
})

test('R48 fragments that double at every level are measured in no time', () => {
  const doubling = Array.from({ length: 60 }, (_, n) => `fragment F${n} on Node { ...F${n + 1} ...F${n + 1} }`).join(
    ' ',
  )
  expect(limitOf(`{ node { ...F0 } } ${doubling} fragment F60 on Node { name }`)).toBe('fields')
})

test('R48 fragment cycles end, and validation says what is wrong with them', async () => {
  const cycles = [
    '{ node { ...A } } fragment A on Node { ...A name }',
    '{ node { ...A } } fragment A on Node { next { ...B } } fragment B on Node { next { ...A } }',
    '{ node { ...A } } fragment A on Node { ...B ...B } fragment B on Node { ...A ...A }',
  ]
  const server = await start()
  for (const query of cycles) {
    expect(limitOf(query)).toBeNull()
    expect(await (await server.post({ query })).json()).toMatchObject({
      errors: expect.arrayContaining([
        expect.objectContaining({ message: expect.stringContaining('within itself') as unknown }),
      ]) as unknown,
    })
  }
})

test('R48 every refusal is coded and counted by its limit', async () => {
  const server = await start()
  const hostile = {
    tokens: `{ ${'hello '.repeat(2_001)} }`,
    depth: `{ ${nested(12, 'node')} }`,
    aliases: `{ node { ${Array.from({ length: 500 }, (_, n) => `a${n}: name`).join(' ')} } }`,
    rootFields: `{ ${'hello '.repeat(21)} }`,
    directives: `{ hello ${'@include(if: true) '.repeat(21)} }`,
    fields: `{ node { ${'name '.repeat(1_001)} } }`,
  }
  for (const [limit, query] of Object.entries(hostile)) {
    const response = await server.post({ query }, { accept: 'application/graphql-response+json' })
    expect(response.status, limit).toBe(400)
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'QUERY_TOO_COMPLEX' } }] })
    const counted = await server.metrics.documentsRefused.get()
    expect(counted.values.find(({ labels }) => labels.rule === limit)?.value, limit).toBe(1)
  }
})

/** A document of fragments that spread one another at random, cycles among them. */
const fragments = fc.integer({ min: 1, max: 8 }).chain((count) =>
  fc.array(fc.array(fc.record({ to: fc.nat(count - 1), under: fc.boolean() }), { maxLength: 4 }), {
    minLength: count,
    maxLength: count,
  }),
)

test('R48 any web of fragments is measured, and what is let through unfolds within the limits', () => {
  fc.assert(
    fc.property(fragments, (webs) => {
      const text = webs
        .map((spreads, n) => {
          const inner = spreads.map(({ to, under }) => (under ? `next { ...F${to} }` : `...F${to}`)).join(' ')
          return `fragment F${n} on Node { name ${inner} }`
        })
        .join(' ')
      const broken = limitOf(`{ node { ...F0 } } ${text}`)
      const unfolded = unfold(webs, 0, [])
      if (unfolded !== 'cycle') expect(broken === null).toBe(unfolded.fields + 1 <= 1_000 && unfolded.depth + 1 <= 12)
    }),
  )
})

/** The slow and plain way: writes every fragment out. */
function unfold(
  webs: { to: number; under: boolean }[][],
  at: number,
  above: number[],
): { fields: number; depth: number } | 'cycle' {
  if (above.includes(at)) return 'cycle'
  let fields = 1
  let depth = 1
  for (const { to, under } of webs[at]!) {
    const inner = unfold(webs, to, [...above, at])
    if (inner === 'cycle') return 'cycle'
    fields += inner.fields + (under ? 1 : 0)
    depth = Math.max(depth, inner.depth + (under ? 1 : 0))
  }
  return { fields, depth }
}
