import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  addAttribute,
  addValue,
  BlockingIssuesError,
  createPersona,
  loadModel,
  updateAttribute,
  type Issue,
  type Persona,
} from '../../src/domain/organisation/index.ts'
import { EVALUATORS } from '../../src/domain/organisation/impact/evaluators/index.ts'
import { readerOf } from '../../src/domain/organisation/reader.ts'
import type { Engine } from '../../src/jobs/index.ts'
import { useDatabase } from '../harness/database.ts'
import { useEngines } from '../jobs/support.ts'
import { holdInvariants } from './resolutions-invariants.ts'
import {
  choose,
  draftOf,
  dropAttribute,
  dropValue,
  edit,
  issuesOf,
  openScene,
  quickDrafts,
  seen,
  type Scene,
} from './resolutions-scene.ts'

const db = useDatabase()
const engines = useEngines(db)
const drafts = quickDrafts()
let scene: Scene
beforeEach(async () => {
  scene = await openScene(db.database)
})
afterEach(() => db.pool.query('delete from job where worker_id is null'))

async function over(id: string, engine: Engine): Promise<string> {
  engine.wake()
  await expect
    .poll(async () => (await seen(scene.call, id)).status, { timeout: 20_000, interval: 20 })
    .toMatch(/COMPLETED|FAILED/)
  const { status, errorCode, error } = await seen(scene.call, id)
  return [status, errorCode, error].filter((part) => part !== null).join(' ')
}

/** A draft in which every action that exists can be chosen for something. */
async function everythingAtOnce(): Promise<Persona[]> {
  const [department, place] = [scene.attribute('department'), scene.attribute('place')]
  const inOne = (field: string, ...values: string[]) => ({ op: 'cond', field, cmp: 'in', values })
  const personas = [
    await scene.persona('Attribute', {
      op: 'and',
      items: [
        inOne(department, scene.value('department', 'sales')),
        { op: 'cond', field: scene.attribute('level'), cmp: 'gt', literal: 1 },
      ],
    }),
    await scene.persona('Value', {
      op: 'not',
      item: inOne(place, scene.value('place', 'be'), scene.value('place', 'utrecht')),
    }),
  ]
  const { attribute } = await edit(scene.call, (input) =>
    addAttribute(scene.call, {
      ...input,
      key: 'division',
      label: 'Division',
      dataType: 'SINGLE_SELECT',
      replacesAttributeId: department,
    }),
  )
  for (const key of ['sales', 'research', 'hr'])
    await edit(scene.call, (input) => addValue(scene.call, { ...input, attributeId: attribute.id, key, label: key }))
  await dropAttribute(scene.call, department)
  await dropValue(scene.call, scene.value('place', 'be'))
  return personas
}

/** Payloads for what only a person can know. */
function byHand(issue: Issue, actionType: string): unknown {
  if (actionType === 'persona.replace_value')
    return { mapping: [{ from: scene.value('place', 'be'), to: [scene.value('place', 'nl')] }] }
  if (actionType === 'employee.migrate_values')
    return { mapping: [{ from: scene.value('place', 'be'), to: scene.value('place', 'nl') }], unmapped: 'block' }
  if (actionType === 'employee.clear_values')
    return { expectedCount: issue.affectedCount, confirmation: issue.entityLabel }
  return undefined
}

test('law 3: every action, for every issue that offers it, resolves it and blocks nothing new', async () => {
  await everythingAtOnce()
  const { engine } = await engines.start([drafts.resolutionJob])
  const before = await issuesOf(drafts, scene.call)
  const pairs = [...before.values()].flatMap((issue) => issue.availableActions.map((offer) => ({ issue, offer })))
  expect([...new Set(pairs.map(({ offer }) => offer.actionType))].toSorted()).toEqual(
    EVALUATORS.flatMap(({ proposes }) => proposes).toSorted(),
  )
  for (const { issue, offer } of pairs) {
    const id = await choose(
      drafts,
      scene.call,
      issue.key,
      offer.actionType,
      offer.defaultPayload ?? byHand(issue, offer.actionType),
    )
    expect([offer.actionType, issue.key, await over(id, engine)]).toEqual([offer.actionType, issue.key, 'COMPLETED'])
    const after = await issuesOf(drafts, scene.call)
    expect([offer.actionType, after.get(issue.key)?.state]).toEqual([offer.actionType, 'RESOLVED'])
    expect([...after.keys()].filter((key) => !before.has(key))).toEqual([])
  }
  await holdInvariants(scene.call)
  const { contentRevision } = await draftOf(scene.call)
  expect(await drafts.canActivate(scene.call)).toMatchObject({ canActivate: true, reasons: [] })
  await drafts.activateDraft(scene.call, { expectedContentRevision: contentRevision })
  await holdInvariants(scene.call)
}, 60_000)

test('law 2: the same submission carried out twice ends the same', async () => {
  const [persona] = await everythingAtOnce()
  const key = `persona.attribute_in_use:${persona!.id}`
  const { engine } = await engines.start([drafts.resolutionJob])
  const staged = async () =>
    (
      await db.pool.query(
        'select target_kind, target_id, seq, precondition, forward, summary from org_model_staged_effect where tenant_id = $1',
        [scene.call.viewer.tenantId],
      )
    ).rows
  expect(await over(await choose(drafts, scene.call, key, 'persona.update_filter_value'), engine)).toBe('COMPLETED')
  const once = await staged()
  expect(await over(await choose(drafts, scene.call, key, 'persona.update_filter_value'), engine)).toBe('COMPLETED')
  expect(await staged()).toEqual(once)
})

describe('property', () => {
  const step = fc.record({
    what: fc.constantFrom('drop attribute', 'drop value', 'relabel', 'retype', 'add'),
    pick: fc.nat(),
  })
  const wish = fc.record({
    shape: fc.constantFrom('one', 'and', 'or', 'not'),
    picks: fc.array(fc.nat(), { minLength: 2, maxLength: 4 }),
  })

  test('random edits, random personas, the first offer that fits: an activation never leaves an invalid persona', async () => {
    let activations = 0
    const { engine } = await engines.start([drafts.resolutionJob])
    await fc.assert(
      fc.asyncProperty(
        fc.array(wish, { minLength: 1, maxLength: 3 }),
        fc.array(step, { minLength: 1, maxLength: 4 }),
        async (wishes, steps) => {
          scene = await openScene(db.database)
          for (const [index, { shape, picks }] of wishes.entries())
            await createPersona(scene.call, { name: `P${index}`, filter: filterOf(shape, picks) })
          for (const { what, pick } of steps) await editOnce(what, pick)
          for (const issue of (await issuesOf(drafts, scene.call)).values()) {
            const offer = issue.availableActions.find(({ defaultPayload }) => defaultPayload !== null)
            if (offer === undefined) continue
            // Another resolution may have archived the persona already.
            const id = await choose(drafts, scene.call, issue.key, offer.actionType, offer.defaultPayload).catch(
              () => null,
            )
            if (id !== null) await over(id, engine)
          }
          const { contentRevision } = await draftOf(scene.call)
          const { canActivate } = await drafts.canActivate(scene.call)
          const error: unknown = await drafts
            .activateDraft(scene.call, { expectedContentRevision: contentRevision })
            .then(
              () => null,
              (refusal: unknown) => refusal,
            )
          expect(error === null).toBe(canActivate)
          if (error === null) activations += 1
          else if (!(error instanceof BlockingIssuesError))
            expect(error).toMatchObject({ code: 'orgmodel.version.no_changes' })
          await holdInvariants(scene.call)
        },
      ),
      { numRuns: 10, seed: 20_261_130 },
    )
    expect(activations).toBeGreaterThan(2)
  }, 120_000)

  const ATTRIBUTES = ['department', 'skills', 'place', 'level', 'remark', 'remote']

  function filterOf(shape: string, picks: readonly number[]): unknown {
    const items = picks.map((pick) => {
      const attribute = [...scene.model.attributes.values()].find(
        ({ key }) => key === ATTRIBUTES[pick % ATTRIBUTES.length],
      )!
      if (attribute.values.length === 0) return { op: 'cond', field: attribute.id, cmp: 'isSet' }
      const values = [attribute.values[pick % attribute.values.length]!.id]
      return { op: 'cond', field: attribute.id, cmp: pick % 2 === 0 ? 'in' : 'notIn', values }
    })
    if (shape === 'one') return items[0]
    return shape === 'not' ? { op: 'not', item: { op: 'or', items } } : { op: shape, items }
  }

  async function editOnce(what: string, pick: number): Promise<void> {
    const draft = await draftOf(scene.call)
    const model = await loadModel(readerOf(scene.call), draft.id)
    const attributes = [...model.attributes.values()]
    const attribute = attributes[pick % attributes.length]
    if (attribute === undefined) return
    const given = { expectedContentRevision: draft.contentRevision, attributeId: attribute.id }
    const value = attribute.values[pick % Math.max(1, attribute.values.length)]
    if (what === 'drop attribute') await dropAttribute(scene.call, attribute.id)
    else if (what === 'drop value' && value !== undefined) await dropValue(scene.call, value.id)
    else if (what === 'relabel') await updateAttribute(scene.call, { ...given, label: `Label ${pick}` })
    else if (what === 'retype' && attribute.values.length === 0)
      await updateAttribute(scene.call, { ...given, dataType: attribute.dataType === 'TEXT' ? 'NUMBER' : 'TEXT' })
    else if (what === 'add')
      await addAttribute(scene.call, {
        expectedContentRevision: draft.contentRevision,
        key: `extra_${draft.contentRevision}`,
        label: 'Extra',
        dataType: 'TEXT',
      })
  }
})
