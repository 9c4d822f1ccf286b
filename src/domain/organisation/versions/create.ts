import { isStorable, statement, type Tx } from '../../../database/index.ts'
import { NotFoundError, ValidationError } from '../../../errors/index.ts'
import { type Act, created } from '../../../transitions/index.ts'
import { mustBeAllowed } from '../../../viewer/index.ts'
import type { Call } from '../../call.ts'
import { actOf } from '../act.ts'
import { startClock } from '../clock.ts'
import { canonicalId, newId } from '../ids.ts'
import { versionLifecycle } from '../lifecycles.ts'
import { contentHashOf } from '../model/canonical.ts'
import { snapshotOf } from '../model/model.ts'
import { writeTransaction } from '../write-transaction.ts'
import { DraftAlreadyExistsError } from './errors.ts'
import { lockActive } from './lock.ts'
import { type OrgModelVersion, versionOf, type VersionSource } from './version.ts'

/** Version 1 of a new tenant: active and empty, so that every draft has a base. Runs where the tenant is made. */
export async function createInitialVersion(tx: Tx, act: Act): Promise<void> {
  const id = newId()
  await tx.prisma.orgModelVersion.create({
    data: {
      tenantId: tx.tenantId,
      id,
      number: 1,
      status: 'ACTIVE',
      source: 'EDIT',
      createdBy: act.actor,
      activatedBy: act.actor,
      activatedAt: await databaseNow(tx),
      contentHash: contentHashOf(snapshotOf(id, [])),
    },
  })
  await created(tx, versionLifecycle, { id, status: 'ACTIVE', act, data: { number: 1 } })
  await startClock(tx)
}

export interface CreateDraftInput {
  readonly name?: string | null
  readonly note?: string | null
  /** The version whose content the draft begins with: the active one (default) or an archived one, to go back. */
  readonly fromVersionId?: string | null
}

/**
 * Opens the draft with the content of the active version, or of an archived one.
 * @throws DraftAlreadyExistsError with the draft's id, NotFoundError, ValidationError
 */
export async function createDraft(call: Call, input: CreateDraftInput): Promise<OrgModelVersion> {
  mustBeAllowed(call.viewer, 'orgmodel.edit')
  const act = actOf(call.viewer)
  return writeTransaction(call, async (tx) => {
    const opening = await mayOpenDraft(tx)
    const from = await contentSource(tx, input.fromVersionId ?? opening.baseVersionId)
    const reverts = from.id === opening.baseVersionId ? null : from
    const draft = await insertDraft(tx, act, {
      ...opening,
      ...described(input),
      source: reverts === null ? 'EDIT' : 'REVERT',
      revertsVersionId: reverts?.id ?? null,
      contentRevision: 0,
    })
    await tx.query(COPY_ATTRIBUTES, [from.id, draft.id])
    await tx.query(COPY_VALUES, [from.id, draft.id])
    return draft
  })
}

/** Name and note as they are stored. */
export const described = ({ name, note }: CreateDraftInput) => ({
  name: textOrNull(name, 200, 'name'),
  note: textOrNull(note, 4_000, 'note'),
})

/** What a new draft is measured against, and its number. */
export interface Opening {
  readonly baseVersionId: string
  readonly number: number
}

/**
 * Takes the active version for the rest of the transaction, so that of two who open a draft at once one waits
 * and then finds the other's (C36).
 * @throws DraftAlreadyExistsError
 */
export async function mayOpenDraft(tx: Tx): Promise<Opening> {
  const active = await lockActive(tx, 'update')
  // A statement of its own after the lock: its snapshot shows the draft of whoever held that before.
  const draft = await tx.prisma.orgModelVersion.findFirst({ where: { status: 'DRAFT' }, select: { id: true } })
  if (draft !== null) throw new DraftAlreadyExistsError(draft.id)
  const [last] = await tx.query(LAST_NUMBER, [])
  return { baseVersionId: active.id, number: (last?.number ?? 0) + 1 }
}

export interface NewDraft extends Opening {
  readonly name: string | null
  readonly note: string | null
  readonly source: VersionSource
  readonly revertsVersionId: string | null
  readonly contentRevision: number
}

/** Writes the draft and its first event; its content is the caller's. */
export async function insertDraft(tx: Tx, act: Act, draft: NewDraft): Promise<OrgModelVersion> {
  const row = await tx.prisma.orgModelVersion.create({
    data: { ...draft, tenantId: tx.tenantId, id: newId(), status: 'DRAFT', createdBy: act.actor },
  })
  const { number, source, baseVersionId, contentRevision } = draft
  const data = { number, source, baseVersionId, contentRevision }
  await created(tx, versionLifecycle, { id: row.id, status: 'DRAFT', act, data })
  return versionOf(row)
}

async function contentSource(tx: Tx, versionId: string): Promise<{ id: string }> {
  const path = ['fromVersionId']
  const id = canonicalId(versionId)
  const version = id === null ? null : await tx.prisma.orgModelVersion.findFirst({ where: { id } })
  if (version === null) throw new NotFoundError('The version to begin with', { path })
  if (version.status !== 'ACTIVE' && version.status !== 'ARCHIVED') {
    throw new ValidationError('A draft begins with the active version or with an archived one.', { path })
  }
  return version
}

function textOrNull(text: string | null | undefined, longest: number, field: string): string | null {
  const trimmed = text?.trim() ?? ''
  if (trimmed.length > longest || !isStorable(trimmed)) {
    throw new ValidationError(`This has at most ${longest} characters.`, { path: [field] })
  }
  return trimmed === '' ? null : trimmed
}

async function databaseNow(tx: Tx): Promise<Date> {
  const [row] = await tx.run(NOW, [])
  if (row === undefined) throw new Error('The database did not say what time it is.')
  return row.now
}

const NOW = statement<{ now: Date }>('organisation.version.now', 'select now() as now')

const LAST_NUMBER = statement<{ number: number | null }>(
  'organisation.version.last_number',
  'select max(number) as number from org_model_version where tenant_id = $1::uuid',
)

const ATTRIBUTE_STATE = `attribute_id, key, label, description, data_type, required, default_value_id,
  replaces_attribute_id, source, sensitive, deprecated_at, sort_order`
const COPY_ATTRIBUTES = statement<unknown>(
  'organisation.version.copy_attributes',
  `insert into org_model_attribute_state (tenant_id, version_id, ${ATTRIBUTE_STATE})
   select tenant_id, $3::uuid, ${ATTRIBUTE_STATE} from org_model_attribute_state
   where tenant_id = $1::uuid and version_id = $2::uuid`,
)

const VALUE_STATE = 'value_id, attribute_id, key, label, parent_value_id, deprecated_at, sort_order'
const COPY_VALUES = statement<unknown>(
  'organisation.version.copy_values',
  `insert into org_model_value_state (tenant_id, version_id, ${VALUE_STATE})
   select tenant_id, $3::uuid, ${VALUE_STATE} from org_model_value_state
   where tenant_id = $1::uuid and version_id = $2::uuid`,
)
