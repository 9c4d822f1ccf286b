import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { composeDrafts, defineAction, type Evaluator, type Finding } from '../../src/domain/organisation/index.ts'
import { netChanges } from '../../src/domain/organisation/index.ts'
import { compose } from '../../src/domain/organisation/impact/composition.ts'
import { resolvedBy, type ImpactContext } from '../../src/domain/organisation/impact/context.ts'
import { EVALUATORS } from '../../src/domain/organisation/impact/evaluators/index.ts'
import { canonicalEntityId, isIssueCode, issueKey } from '../../src/domain/organisation/impact/issue.ts'
import { inForce, judge, type CompletedResolution } from '../../src/domain/organisation/impact/judge.ts'
import { runEvaluators, type BareIssue } from '../../src/domain/organisation/impact/pipeline.ts'
import { fingerprintOf } from '../../src/domain/organisation/impact/fingerprint.ts'
import { snapshotOf, type ModelAttribute } from '../../src/domain/organisation/model/model.ts'
import type { Persona } from '../../src/domain/organisation/personas/persona.ts'
import { ACTIONS } from '../../src/domain/organisation/resolutions/actions/index.ts'
import { parsePayload } from '../../src/domain/organisation/resolutions/payload.ts'

const ID = (n: number): string => `00000000-0000-7000-8000-${String(n).padStart(12, '0')}`

const attribute = (n: number, own: Partial<ModelAttribute> = {}): ModelAttribute => ({
  id: ID(n),
  key: `a${n}`,
  label: `Attribute ${n}`,
  description: null,
  dataType: 'SINGLE_SELECT',
  required: false,
  defaultValueId: null,
  replacesAttributeId: null,
  source: 'MANUAL',
  sensitive: false,
  deprecatedAt: null,
  sortOrder: n,
  values: [value(n * 10 + 1, n), value(n * 10 + 2, n)],
  ...own,
})

const value = (n: number, of: number) => ({
  id: ID(n),
  attributeId: ID(of),
  key: `v${n}`,
  label: `Value ${n}`,
  parentValueId: null,
  deprecatedAt: null,
  sortOrder: n,
})

const persona = (n: number, filter: Persona['filter']): Persona => ({
  id: ID(n),
  name: `Persona ${n}`,
  description: null,
  kind: 'DYNAMIC',
  filter,
  revision: 1,
  validity: 'VALID',
  invalidReason: null,
  archivedAt: null,
  createdAt: new Date(0),
  updatedAt: new Date(0),
})

const uses = (n: number): Persona['filter'] => ({ op: 'cond', field: ID(n), cmp: 'in', values: [ID(n * 10 + 1)] })

function contextOf(
  before: readonly ModelAttribute[],
  after: readonly ModelAttribute[],
  own: Partial<ImpactContext> = {},
): ImpactContext {
  const [active, draft] = [snapshotOf(ID(1), before), snapshotOf(ID(2), after)]
  const none = new Set<string>()
  return {
    draftVersionId: ID(2),
    baseVersionId: ID(1),
    activeVersionId: ID(1),
    active,
    draft,
    changes: netChanges(active, draft),
    personas: [],
    holdings: [],
    holders: new Map(),
    stagedEffects: [],
    completedResolutionKeys: none,
    isResolved: resolvedBy(none),
    ...own,
  }
}

const finding = (own: Partial<Finding>): Finding => ({
  code: 'test.found',
  entityId: null,
  entityLabel: null,
  changes: [],
  references: [],
  affectedCount: null,
  message: 'Found.',
  proposals: [],
  ...own,
})

const evaluator = (own: Partial<Evaluator> & Pick<Evaluator, 'evaluate'>): Evaluator => ({
  code: 'test',
  version: 1,
  codes: { 'test.found': { severity: 'BLOCKING', entity: null, description: 'A test found something.' } },
  proposes: [],
  ...own,
})

const composed = (...evaluators: Evaluator[]) => compose({ evaluators, actions: [] })
const core = compose({ evaluators: EVALUATORS, actions: ACTIONS })
const nothing = contextOf([], [])

const action = (actionType: string) =>
  defineAction({
    actionType,
    label: 'Accept',
    effect: 'ACKNOWLEDGE',
    destructive: false,
    exclusive: false,
    requiresAffectedEntity: false,
    shape: {},
    check: () => [],
    execute: async () => ({ kind: 'DONE', affected: 1, effects: [] }),
  })

describe('composition', () => {
  test('C21 two handlers with one action type keep the process from starting', () => {
    expect(() => composeDrafts({ actions: [action('persona.archive')] })).toThrow(/persona\.archive/)
  })

  test('C21 two evaluators with one code, one issue code of two owners, and an action that nobody carries out too', () => {
    const twin = evaluator({ evaluate: () => [] })
    expect(() => compose({ evaluators: [twin, twin], actions: [] })).toThrow(/evaluator "test"/)
    expect(() => composed(twin, { ...twin, code: 'other' })).toThrow(/test\.found/)
    expect(() => composed({ ...twin, proposes: ['test.repair'] })).toThrow(/test\.repair/)
  })

  test('P10 every blocking code about a persona or about people offers something to do', () => {
    for (const { codes, proposes } of EVALUATORS)
      for (const [code, { severity, entity }] of Object.entries(codes))
        if (severity === 'BLOCKING' && /^(persona|employee)\./.test(code))
          expect([code, entity, proposes.length > 0]).toEqual([code, entity, true])
  })

  test('C43 every action serves its payload as a closed JSON Schema with descriptions', async () => {
    const { issues } = await runEvaluators(core, contextOf([attribute(1)], [], { personas: [persona(9, uses(1))] }))
    const offers = [...issues.values()].flatMap(({ availableActions }) => availableActions)
    expect(offers.map(({ actionType }) => actionType)).toContain('persona.update_filter_value')
    for (const { payloadSchema } of offers) {
      expect(payloadSchema).toMatchObject({ type: 'object', additionalProperties: false })
      expect(JSON.stringify(payloadSchema)).toContain('description')
    }
  })
})

describe('identity', () => {
  test('C06 the key is injective over valid codes and entities', () => {
    const code = fc.stringMatching(/^[a-z0-9_]{1,8}(\.[a-z0-9_]{1,8}){1,2}$/)
    const entity = fc.option(fc.string({ minLength: 1, maxLength: 12 }), { nil: null })
    fc.assert(
      fc.property(code, entity, code, entity, (a, x, b, y) => {
        fc.pre(isIssueCode(a) && isIssueCode(b))
        expect(issueKey(a, x) === issueKey(b, y)).toBe(a === b && x === y)
      }),
    )
  })

  test('C06 a code holds no colon and has two parts', () => {
    for (const code of ['a:b', 'a', 'A.b', 'a..b', '.a', 'a.b:', '']) expect(isIssueCode(code)).toBe(false)
  })

  test('C08 an evaluator that reports an id in another spelling has failed', async () => {
    const upper = 'AAAAAAAA-0000-7000-8000-000000000001'
    expect(canonicalEntityId(upper)).toBe(upper.toLowerCase())
    const { issues } = await runEvaluators(
      composed(evaluator({ evaluate: () => [finding({ entityId: upper })] })),
      nothing,
    )
    expect([...issues.keys()]).toEqual(['evaluator.failed:test'])
  })

  test('C09 a general key is no wildcard, nor the reverse', () => {
    const isResolved = resolvedBy(new Set(['code.a:', 'code.b:x']))
    expect([isResolved('code.a'), isResolved('code.a', 'x'), isResolved('code.b'), isResolved('code.b', 'x')]).toEqual([
      true,
      false,
      false,
      true,
    ])
  })

  test('C10 several findings of one key are one issue with all the places', async () => {
    const place = (path: string) => ({ path, attributeId: ID(1), valueId: null, negated: false, excerpt: path })
    const { issues } = await runEvaluators(
      composed(
        evaluator({
          evaluate: () => ['/a', '/b'].map((path) => finding({ references: [place(path)], affectedCount: 2 })),
        }),
      ),
      nothing,
    )
    expect([...issues.values()]).toMatchObject([
      { key: 'test.found:', references: [{ path: '/a' }, { path: '/b' }], affectedCount: 2 },
    ])
  })
})

describe('pipeline', () => {
  test('C39 an evaluator that throws blocks, by name', async () => {
    const { issues, runs } = await runEvaluators(
      composed(
        evaluator({
          evaluate() {
            throw new Error('secret of somebody@example.org')
          },
        }),
      ),
      nothing,
    )
    expect(issues.get('evaluator.failed:test')).toMatchObject({ severity: 'BLOCKING', entityId: 'test' })
    expect(issues.get('evaluator.failed:test')?.message).not.toContain('example.org')
    expect(runs).toMatchObject([{ code: 'test', outcome: 'FAILED' }])
  })

  test('C39 an evaluator that hangs is told to stop and blocks', async () => {
    let told = false
    const hanging = evaluator({
      evaluate: (_, signal) => new Promise(() => signal.addEventListener('abort', () => (told = true))),
    })
    const { issues, runs } = await runEvaluators(composed(hanging), nothing, 5)
    expect([...issues.keys()]).toEqual(['evaluator.failed:test'])
    expect(runs).toMatchObject([{ outcome: 'TIMED_OUT' }])
    expect(told).toBe(true)
  })

  test('C39 one that reports an undeclared code has failed', async () => {
    const { issues } = await runEvaluators(
      composed(evaluator({ evaluate: () => [finding({ code: 'test.other' })] })),
      nothing,
    )
    expect([...issues.keys()]).toEqual(['evaluator.failed:test'])
  })

  test('same inputs in another order, same issues', async () => {
    const personas = [1, 2, 3].map((n) => persona(90 + n, uses(n)))
    const before = [1, 2, 3].map((n) => attribute(n))
    const a = await runEvaluators(core, contextOf(before, [attribute(3)], { personas }))
    const b = await runEvaluators(
      core,
      contextOf(before.toReversed(), [attribute(3)], { personas: personas.toReversed() }),
    )
    expect([...b.issues]).toEqual([...a.issues])
    expect([...a.issues.keys()]).toEqual([91, 92].map((n) => `persona.attribute_in_use:${ID(n)}`))
  })
})

describe('C02 which change breaks which reference', () => {
  const cases: readonly [string, Partial<ModelAttribute> | null, string[]][] = [
    ['removed', null, ['persona.attribute_in_use']],
    ['another label', { label: 'Renamed' }, []],
    ['another key', { key: 'renamed' }, []],
    ['another place', { sortOrder: 99 }, []],
    ['required', { required: true }, []],
    ['deprecated', { deprecatedAt: new Date(0) }, []],
    ['another type', { dataType: 'NUMBER', values: [] }, ['persona.attribute_in_use']],
    ['the value removed', { values: [value(12, 1)] }, ['persona.value_in_use']],
    ['the value relabelled', { values: [{ ...value(11, 1), label: 'Renamed', key: 'renamed' }, value(12, 1)] }, []],
    ['another value removed', { values: [value(11, 1)] }, []],
  ]
  test.each(cases)('%s', async (_, change, codes) => {
    const after = change === null ? [] : [attribute(1, change)]
    const { issues } = await runEvaluators(core, contextOf([attribute(1)], after, { personas: [persona(9, uses(1))] }))
    expect([...issues.values()].filter(({ entityKind }) => entityKind === 'PERSONA').map(({ code }) => code)).toEqual(
      codes,
    )
  })

  test('replaced by another attribute', async () => {
    const successor = attribute(2, { replacesAttributeId: ID(1) })
    const { issues } = await runEvaluators(
      core,
      contextOf([attribute(1)], [successor], { personas: [persona(9, uses(1))] }),
    )
    const issue = issues.get(`persona.attribute_in_use:${ID(9)}`)
    expect(issue?.changes.map(({ kind }) => kind)).toEqual(['ATTRIBUTE_REPLACED'])
    expect(issue?.availableActions.find(({ recommended }) => recommended)?.actionType).toBe(
      'persona.update_filter_value',
    )
  })

  test('P41 what is broken already is not this draft’s doing', async () => {
    const { issues } = await runEvaluators(
      core,
      contextOf([attribute(1)], [attribute(1, { label: 'x' })], { personas: [persona(9, uses(7))] }),
    )
    expect([...issues.keys()]).toEqual([])
  })
})

describe('E15 the draft as a model of its own', () => {
  const keys = async (
    before: readonly ModelAttribute[],
    after: readonly ModelAttribute[],
    own: Partial<ImpactContext> = {},
  ) => [...(await runEvaluators(core, contextOf(before, after, own))).issues.keys()]
  const tree = (...parents: (number | null)[]) =>
    attribute(1, {
      dataType: 'HIERARCHY',
      values: parents.map((parent, place) => ({
        ...value(100 + place, 1),
        parentValueId: parent === null ? null : ID(100 + parent),
      })),
    })

  test('nothing changed', async () => expect(await keys([attribute(1)], [attribute(1)])).toEqual(['model.no_changes:']))
  test('C38 another base', async () =>
    expect(await keys([], [attribute(1)], { baseVersionId: ID(7) })).toEqual(['model.base_outdated:']))
  test('a list without values', async () =>
    expect(await keys([], [attribute(1, { values: [] })])).toEqual([`model.empty_select:${ID(1)}`]))
  test('a parent that is not there', async () =>
    expect(await keys([], [tree(null, 9)])).toEqual([`model.orphan_parent:${ID(101)}`]))
  test('a cycle, at each value in it', async () =>
    expect(await keys([], [tree(1, 0)])).toEqual([100, 101].map((n) => `model.hierarchy_cycle:${ID(n)}`)))
  test('the thirteenth level', async () =>
    expect(await keys([], [tree(null, ...Array.from({ length: 12 }, (_, n) => n))])).toEqual([
      `model.depth_exceeded:${ID(112)}`,
    ]))
})

describe('judging', () => {
  const issue = (
    key: string,
    changes: string[] = ['c1'],
    references: string[] = ['/a → x/'],
    version = 1,
  ): BareIssue => {
    const basis = { evaluator: `test@${version}`, changes, references }
    return { ...BARE, key, code: key.split(':')[0]!, basis, fingerprint: fingerprintOf(key, basis) }
  }
  const BARE = {
    severity: 'BLOCKING',
    entityKind: null,
    entityId: null,
    entityLabel: null,
    message: '',
    changes: [],
    references: [],
    affectedCount: null,
    availableActions: [],
  } as const
  const completed = (of: BareIssue, effect: CompletedResolution['effect'] = 'STAGED'): CompletedResolution => ({
    id: ID(1),
    submissionNo: 1,
    issueKey: of.key,
    fingerprint: of.fingerprint,
    basis: of.basis,
    effect,
  })
  const map = (...issues: BareIssue[]) => new Map(issues.map((one) => [one.key, one]))
  const states = (live: BareIssue[], projected: BareIssue[], done: CompletedResolution[]) =>
    judge(map(...live), map(...projected), done).map(({ state, staleReason }) =>
      staleReason === null ? state : `${state} ${staleReason}`,
    )

  test('C13 suppression is central: an acknowledgement of the same problem resolves it', () => {
    const one = issue('test.found:')
    expect(states([one], [one], [completed(one, 'ACKNOWLEDGE')])).toEqual(['RESOLVED'])
    expect(states([one], [one], [])).toEqual(['OPEN'])
  })

  test('C11 another problem under the same key opens it again and says what changed', () => {
    const then = issue('test.found:')
    for (const [now, reason] of [
      [issue('test.found:', ['c1', 'c2']), 'CHANGES'],
      [issue('test.found:', ['c1'], ['/a → x/', '/b → y/']), 'REFERENCES'],
      [issue('test.found:', ['c1'], ['/a → x/'], 2), 'EVALUATOR'],
    ] as const) {
      expect(states([now], [now], [completed(then, 'ACKNOWLEDGE')])).toEqual([`STALE ${reason}`])
      expect(inForce(map(now), [completed(then)])).toEqual([])
    }
  })

  test('C12 a staged effect after which the problem is still there resolves nothing', () => {
    const one = issue('test.found:')
    expect(states([one], [one], [completed(one)])).toEqual(['INEFFECTIVE'])
    expect(states([one], [], [completed(one)])).toEqual(['RESOLVED'])
  })

  test('C39 an evaluator that failed is never resolved by being absent', () => {
    expect(states([issue('evaluator.failed:test')], [], [])).toEqual(['OPEN'])
  })

  test('what only the effects cause is an issue too', () => {
    expect(states([], [issue('resolution.target_invalid:x')], [])).toEqual(['OPEN'])
  })
})

describe('C43 payloads', () => {
  const strict = defineAction({
    actionType: 'test.act',
    label: 'Act',
    effect: 'ACKNOWLEDGE',
    destructive: false,
    exclusive: false,
    requiresAffectedEntity: false,
    shape: { count: z.int() },
    check: () => [],
    execute: async () => ({ kind: 'DONE', affected: 1, effects: [] }),
  })
  const of = (text: string | null) => parsePayload(strict, text).problems.map(({ path }) => `/${path.join('/')}`)

  test('nothing and null are an empty payload', () => {
    expect([of(null), of('null'), of('{}')]).toEqual([['/count'], ['/count'], ['/count']])
  })
  test('unknown keys, wrong types, no JSON', () => {
    expect(of('{"count":1}')).toEqual([])
    expect(of('{"count":1,"extra":2}')).toEqual(['/'])
    expect(of('{"count":"1"}')).toEqual(['/count'])
    expect(of('{"count":')).toEqual(['/'])
    expect(of('[]')).toEqual(['/'])
  })
  test('too deep and too long end without walking it all', () => {
    expect(of(`${'['.repeat(30_000)}${']'.repeat(30_000)}`)).toEqual(['/'])
    expect(of(JSON.stringify('x'.repeat(70_000)))).toEqual(['/'])
  })
  test('any JSON at all is answered, never thrown', () => {
    fc.assert(fc.property(fc.json({ maxDepth: 12 }), (text) => Array.isArray(of(text))))
    for (const known of ACTIONS)
      fc.assert(
        fc.property(fc.json(), (text) => Array.isArray(parsePayload(known, text).problems)),
        { numRuns: 50 },
      )
  })
})
