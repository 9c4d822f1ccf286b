import { expect } from 'vitest'
import { UserError } from '../../src/errors/index.ts'
import {
  addAttribute,
  createDraft,
  importPeople,
  personaById,
  updatePersona,
} from '../../src/domain/organisation/index.ts'
import type { TestDatabase } from '../harness/database.ts'
import type { useEngines } from '../jobs/support.ts'
import { holdInvariants } from './resolutions-invariants.ts'
import { dropAttribute, dropValue, issuesOf, openScene, quickDrafts, type Scene } from './resolutions-scene.ts'
import { openDraft } from './tenant.ts'

const drafts = quickDrafts()

/** The same numbers for the same seed, so that a run which failed can be had again. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

type Act = (pick: (below: number) => number) => Promise<unknown>

function actsOf(
  db: TestDatabase,
  { call, attribute, value }: Scene,
  personas: readonly string[],
): Readonly<Record<string, Act>> {
  const contentRevision = async () => (await openDraft(call))?.contentRevision ?? 0
  const someResolution = async (pick: (below: number) => number) => {
    const { rows } = await db.pool.query<{ id: string }>(
      'select id from org_model_draft_resolution where tenant_id = $1 order by created_at desc limit 10',
      [call.viewer.tenantId],
    )
    return rows[pick(rows.length)]
  }
  return {
    open: () => createDraft(call, {}),
    edit: async (pick) =>
      pick(3) === 0
        ? addAttribute(call, {
            expectedContentRevision: await contentRevision(),
            key: `extra_${pick(1_000_000)}`,
            label: 'Extra',
            dataType: 'TEXT',
          })
        : pick(2) === 0
          ? dropValue(call, value('department', ['sales', 'research', 'hr'][pick(3)]!))
          : dropAttribute(call, attribute(['department', 'skills', 'remark'][pick(3)]!)),
    submit: async (pick) => {
      const issues = [...(await issuesOf(drafts, call)).values()].filter((issue) => issue.availableActions.length > 0)
      const issue = issues[pick(issues.length)]
      if (issue === undefined) return
      const offer = issue.availableActions[pick(issue.availableActions.length)]!
      await drafts.submitResolutions(call, {
        resolutions: [
          {
            issueCode: issue.code,
            affectedEntityId: issue.entityId,
            chosenActionType: offer.actionType,
            actionPayload: offer.defaultPayload,
          },
        ],
      })
    },
    cancel: async (pick) => {
      const one = await someResolution(pick)
      if (one !== undefined) await drafts.cancelResolution(call, { resolutionId: one.id })
    },
    retry: async (pick) => {
      const one = await someResolution(pick)
      if (one !== undefined) await drafts.retryResolution(call, { resolutionId: one.id })
    },
    activate: async () => drafts.activateDraft(call, { expectedContentRevision: await contentRevision() }),
    discard: () => drafts.discardDraft(call, { reason: 'A test.' }),
    persona: async (pick) => {
      const persona = (await personaById(call, personas[pick(personas.length)]!))!
      await updatePersona(call, {
        personaId: persona.id,
        expectedRevision: persona.revision,
        filter: {
          op: 'cond',
          field: attribute(['department', 'skills', 'level'][pick(3)]!),
          cmp: 'isSet',
        },
      })
    },
    people: (pick) =>
      importPeople(call, {
        people: [{ externalId: `p${pick(9)}`, values: { level: pick(9), skills: [['a', 'b'][pick(2)]!] } }],
      }),
  }
}

/** How often each, so that a draft lives long enough to gather resolutions. */
const OFTEN = { open: 3, edit: 3, submit: 12, cancel: 2, retry: 2, activate: 3, discard: 1, persona: 2, people: 2 }

/**
 * Eight people do so many things each, of every kind, all at once, while two engines carry out what they choose.
 * Whatever is refused must say so as a `UserError`; when all is quiet the invariants hold and no job is left.
 */
export async function race(
  db: TestDatabase,
  engines: ReturnType<typeof useEngines>,
  { seed, acts: count }: { seed: number; acts: number },
): Promise<void> {
  const scene = await openScene(db.database)
  const { call, attribute, value } = scene
  const personas: string[] = []
  for (const key of ['sales', 'research', 'hr', 'sales']) {
    const filter = { op: 'cond', field: attribute('department'), cmp: 'in', values: [value('department', key)] }
    personas.push((await scene.persona(`${key} ${personas.length}`, filter)).id)
  }
  await engines.start([drafts.resolutionJob])
  await engines.start([drafts.resolutionJob], { slot: 1 })

  const acts = actsOf(db, scene, personas)
  const names = Object.entries(OFTEN).flatMap(([name, times]) => Array<string>(times).fill(name))
  const done = new Set<string>()
  const unexpected: string[] = []
  const actor = async (pick: (below: number) => number) => {
    for (let n = 0; n < count; n++) {
      const name = names[pick(names.length)]!
      try {
        await acts[name]!(pick)
        done.add(name)
      } catch (error) {
        if (!(error instanceof UserError)) unexpected.push(`${name}: ${String(error)}`)
      }
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, index) => actor(numbers(seed * 8 + index))))
  expect(unexpected).toEqual([])
  for (const name of ['open', 'edit', 'submit', 'persona', 'people']) expect([...done]).toContain(name)
  const left = async () => (await db.pool.query('select count(*)::int as n from job')).rows[0].n
  await expect.poll(left, { timeout: 20_000 }).toBe(0)
  await holdInvariants(call)
}
