import fc from 'fast-check'
import { expect, test } from 'vitest'
import { UserError } from '../../src/errors/index.ts'
import { addAttribute, addValue, type Issue } from '../../src/domain/organisation/index.ts'
import { useDatabase } from '../harness/database.ts'
import { useEngines } from '../jobs/support.ts'
import { holdInvariants } from './resolutions-invariants.ts'
import { draftOf, dropAttribute, dropValue, edit, issuesOf, openScene, quickDrafts, seen } from './resolutions-scene.ts'

const db = useDatabase()
const engines = useEngines(db)
const drafts = quickDrafts()

const UUID = /^[0-9a-f]{8}-/

/** A copy with some of its parts replaced by others of their kind, doubled, or left out. */
function spoilt(value: unknown, ids: readonly string[], pick: (below: number) => number): unknown {
  if (typeof value === 'string') {
    if (pick(3) > 0) return value
    return UUID.test(value) ? ids[pick(ids.length)] : ['', 'block', 'clear', ' x ', value.toUpperCase()][pick(5)]
  }
  if (typeof value === 'number') return pick(3) > 0 ? value : [0, -1, 1.5, 2 ** 40, 7][pick(5)]
  if (Array.isArray(value)) {
    const items = value.map((item) => spoilt(item, ids, pick))
    return pick(5) === 0 ? [...items, ...items] : pick(6) === 0 ? items.slice(1) : items
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(() => pick(8) > 0)
      .map(([key, inner]) => [key, spoilt(inner, ids, pick)]),
  )
}

test('C43 whatever ids an action is given, it refuses them, or does something that can be activated', async () => {
  const scene = await openScene(db.database)
  const foreign = await openScene(db.database)
  const { call, attribute, value } = scene
  const inOne = (key: string, ...keys: string[]) => ({
    op: 'cond',
    field: attribute(key),
    cmp: 'in',
    values: keys.map((one) => value(key, one)),
  })
  const persona = await scene.persona('One', { op: 'and', items: [inOne('department', 'sales', 'hr')] })
  await scene.persona('Two', { op: 'or', items: [inOne('place', 'be', 'utrecht'), inOne('department', 'sales')] })
  const edited = { key: 'division', label: 'Division', dataType: 'SINGLE_SELECT' as const }
  const { attribute: division } = await edit(call, (input) =>
    addAttribute(call, { ...input, ...edited, replacesAttributeId: attribute('department') }),
  )
  const added: string[] = []
  for (const key of ['sales', 'research', 'hr'])
    added.push(
      (await edit(call, (input) => addValue(call, { ...input, attributeId: division.id, key, label: key }))).value.id,
    )
  await dropAttribute(call, attribute('department'))
  await dropValue(call, value('place', 'be'))

  const ids = [
    ...['department', 'place', 'skills', 'level', 'remark'].map(attribute),
    ...['sales', 'hr'].map((key) => value('department', key)),
    ...['nl', 'be', 'utrecht'].map((key) => value('place', key)),
    ...added,
    division.id,
    persona.id,
    foreign.attribute('department'),
    foreign.value('department', 'sales'),
    'ffffffff-ffff-7fff-8fff-ffffffffffff',
  ]
  const byHand: Readonly<Record<string, (issue: Issue) => unknown>> = {
    'persona.replace_value': () => ({ mapping: [{ from: value('place', 'be'), to: [value('place', 'nl')] }] }),
    'persona.archive': () => ({ reason: 'Not needed.' }),
    'employee.migrate_values': () => ({
      mapping: [{ from: value('place', 'be'), to: value('place', 'nl') }],
      unmapped: 'block',
    }),
    'employee.clear_values': ({ affectedCount, entityLabel }) => ({
      expectedCount: affectedCount,
      confirmation: entityLabel,
    }),
  }
  const { engine } = await engines.start([drafts.resolutionJob])
  const ends = new Set<string>()
  const one = async (pick: (below: number) => number): Promise<void> => {
    const open = [...(await issuesOf(drafts, call)).values()].filter((issue) => issue.availableActions.length > 0)
    const issue = open[pick(open.length)]!
    const { actionType, defaultPayload } = issue.availableActions[pick(issue.availableActions.length)]!
    const actionPayload = spoilt(defaultPayload ?? byHand[actionType]?.(issue) ?? {}, ids, pick)
    const choice = {
      issueCode: issue.code,
      affectedEntityId: issue.entityId,
      chosenActionType: actionType,
      actionPayload,
    }
    const submitted = await drafts.submitResolutions(call, { resolutions: [choice] }).catch((error: unknown) => {
      expect(error, JSON.stringify(choice)).toBeInstanceOf(UserError)
      return []
    })
    if (submitted.length === 0) return void ends.add('refused')
    const id = submitted[0]!.resolutionId
    engine.wake()
    await expect.poll(async () => (await seen(call, id)).status, { timeout: 20_000, interval: 10 }).toMatch(/COM|FAI/)
    const { status, errorCode } = await seen(call, id)
    expect(errorCode ?? '', JSON.stringify(choice)).not.toMatch(/unexpected|timeout|conflict$|lost/)
    ends.add(status)
  }
  await fc.assert(
    fc.asyncProperty(fc.infiniteStream(fc.nat({ max: 2 ** 20 })), (numbers) =>
      one((below) => (numbers.next().value as number) % below),
    ),
    { numRuns: 80, seed: 20261130, endOnFailure: true },
  )
  expect([...ends].toSorted()).toEqual(expect.arrayContaining(['COMPLETED', 'refused']))
  await holdInvariants(call)
  await drafts
    .activateDraft(call, { expectedContentRevision: (await draftOf(call)).contentRevision })
    .catch((error: unknown) => expect(error).toBeInstanceOf(UserError))
  await holdInvariants(call)
  await holdInvariants(foreign.call)
}, 60_000)
