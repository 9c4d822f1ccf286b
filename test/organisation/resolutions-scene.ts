import { randomUUID } from 'node:crypto'
import type { Database } from '../../src/database/index.ts'
import type { Call } from '../../src/domain/call.ts'
import {
  composeDrafts,
  createDraft,
  createPersona,
  importPeople,
  removeAttribute,
  removeValue,
  type Drafts,
  type Issue,
  type ModelSnapshot,
  type OrgModelVersion,
  type Persona,
  type Resolution,
  resolutionById,
} from '../../src/domain/organisation/index.ts'
import { attributeId, openDraft, tenantWithModel, valueId } from './tenant.ts'

/** Drafts whose retries come at once, so that a test waits for nothing. */
export const quickDrafts = (options: Parameters<typeof composeDrafts>[0] = {}): Drafts =>
  composeDrafts({ retryDelaysMs: [0, 0, 0], lockTimeoutMs: 200, ...options })

/** A tenant with the model of `tenant.ts`, six people, and whatever else a test makes. */
export interface Scene {
  readonly call: Call
  readonly model: ModelSnapshot
  readonly attribute: (key: string) => string
  readonly value: (attribute: string, key: string) => string
  readonly persona: (name: string, filter: unknown) => Promise<Persona>
}

export async function openScene(database: Database): Promise<Scene> {
  const { call, model } = await tenantWithModel(database)
  await member(call)
  await importPeople(call, {
    people: [
      { externalId: 'p1', values: { department: 'sales', level: 1, skills: ['a', 'b'] } },
      { externalId: 'p2', values: { department: 'sales', level: 2, skills: ['a'] } },
      { externalId: 'p3', values: { department: 'research', level: 3 } },
      { externalId: 'p4', values: { department: 'research', level: 4, place: 'utrecht' } },
      { externalId: 'p5', values: { department: 'hr', level: 5, place: 'be' } },
      { externalId: 'p6', values: { level: 6 } },
    ],
  })
  return {
    call,
    model,
    attribute: (key) => attributeId(model, key),
    value: (attribute, key) => valueId(model, attribute, key),
    persona: (name, filter) => createPersona(call, { name, filter }),
  }
}

/** Files what a token would have filed. */
export async function member(call: Call, roles: readonly string[] = call.viewer.roles): Promise<void> {
  await call.database.pool.query(
    `insert into membership (tenant_id, subject, roles, token_issued_at) values ($1, $2, $3, now())
     on conflict (tenant_id, subject) do update set roles = excluded.roles`,
    [call.viewer.tenantId, call.viewer.subject, roles],
  )
}

/** The open draft; one is opened when there is none. */
export const draftOf = async (call: Call): Promise<OrgModelVersion> =>
  (await openDraft(call)) ?? (await createDraft(call, {}))

/** Runs an edit on the draft as it is. */
export async function edit<T>(
  call: Call,
  change: (input: { expectedContentRevision: number }) => Promise<T>,
): Promise<T> {
  const draft = await draftOf(call)
  return change({ expectedContentRevision: draft.contentRevision })
}

export const dropAttribute = (call: Call, attribute: string) =>
  edit(call, (input) => removeAttribute(call, { ...input, attributeId: attribute }))

export const dropValue = (call: Call, value: string) =>
  edit(call, (input) => removeValue(call, { ...input, valueId: value }))

export const issuesOf = async (drafts: Drafts, call: Call): Promise<ReadonlyMap<string, Issue>> =>
  new Map((await drafts.evaluateDraft(call)).issues.map((issue) => [issue.key, issue]))

/** Submits one action; the suggested payload unless another is given. */
export async function choose(
  drafts: Drafts,
  call: Call,
  key: string,
  chosenActionType: string,
  payload?: unknown,
): Promise<string> {
  const issue = (await issuesOf(drafts, call)).get(key)
  if (issue === undefined) throw new Error(`There is no issue ${key}.`)
  const offer = issue.availableActions.find(({ actionType }) => actionType === chosenActionType)
  const [submitted] = await drafts.submitResolutions(call, {
    resolutions: [
      {
        issueCode: issue.code,
        affectedEntityId: issue.entityId,
        chosenActionType,
        actionPayload: payload ?? offer?.defaultPayload,
      },
    ],
  })
  return submitted!.resolutionId
}

export async function seen(call: Call, id: string): Promise<Resolution> {
  const resolution = await resolutionById(call, id)
  if (resolution === null) throw new Error(`There is no resolution ${id}.`)
  return resolution
}

/** The statuses that a resolution went through, as its events tell. */
export async function timeline(call: Call, id: string): Promise<string[]> {
  const { rows } = await call.database.pool.query<{ to: string; attempt: string; reason: string | null }>(
    `select "to", data->>'attempt' as attempt, reason from event
     where tenant_id = $1 and subject_kind = 'org_model_draft_resolution' and subject_id = $2 order by sequence`,
    [call.viewer.tenantId, id],
  )
  return rows.map(({ to, attempt }) => `${to}/${attempt}`)
}

export const another = (call: Call, subject: string, roles: readonly string[]): Call => ({
  ...call,
  viewer: { ...call.viewer, subject, roles, correlationId: randomUUID() },
})
