import { statement, type Tx } from '../../../database/index.ts'
import { ConflictError, NotFoundError } from '../../../errors/index.ts'
import { appendEvents } from '../../../events/index.ts'
import type { Act } from '../../../transitions/index.ts'
import { mustBeAllowed } from '../../../viewer/index.ts'
import type { Call } from '../../call.ts'
import type { ConditionTree } from '../../conditions/index.ts'
import { actOf } from '../act.ts'
import { bumpDownstream } from '../clock.ts'
import { canonicalId, newId } from '../ids.ts'
import { canonicalJson, type Json } from '../model/canonical.ts'
import { loadModel } from '../model/load.ts'
import type { ModelSnapshot } from '../model/model.ts'
import { replaceReferences } from '../references/index-table.ts'
import { descriptionProblem, labelProblem, mustKeep } from '../versions/keys.ts'
import { lockActive } from '../versions/lock.ts'
import { writeTransaction } from '../write-transaction.ts'
import { personaChanged } from './errors.ts'
import { readFilter } from './filter.ts'
import { type Persona, type PersonaKind, personaOf, validityOf } from './persona.ts'
import { extractPersona } from './references.ts'

export interface CreatePersonaInput {
  readonly name: string
  readonly description?: string | null
  /** A condition tree over the active model, as JSON. */
  readonly filter: unknown
}

/** @throws PersonaFilterInvalidError, ValidationError */
export async function createPersona(call: Call, input: CreatePersonaInput): Promise<Persona> {
  mustBeAllowed(call.viewer, 'orgmodel.edit')
  const name = readName(input.name)
  const description = readDescription(input.description)
  return writeTransaction(call, async (tx) => {
    const model = await activeModel(tx)
    const filter = readFilter(input.filter, model)
    const row = await tx.prisma.persona.create({
      data: { tenantId: tx.tenantId, id: newId(), name, description, filter: json(filter), validity: 'VALID' },
    })
    const persona = personaOf(row)
    await follow(tx, persona, { type: 'persona.created', act: actOf(call.viewer), reason: null })
    await bumpDownstream(tx)
    return persona
  })
}

export interface UpdatePersonaInput {
  readonly personaId: string
  readonly expectedRevision: number
  readonly name?: string
  readonly description?: string | null
  readonly filter?: unknown
}

/**
 * Changes what is given and leaves the rest; an update that changes nothing leaves no trace.
 * @throws NotFoundError, ConflictError, PersonaFilterInvalidError, ValidationError
 */
export async function updatePersona(call: Call, input: UpdatePersonaInput): Promise<Persona> {
  mustBeAllowed(call.viewer, 'orgmodel.edit')
  const changes = {
    ...(input.name === undefined ? {} : { name: readName(input.name) }),
    ...(input.description === undefined ? {} : { description: readDescription(input.description) }),
  }
  return writeTransaction(call, async (tx) => {
    const model = await activeModel(tx)
    const persona = await expectedPersona(tx, input)
    if (persona.archivedAt !== null) {
      throw new ConflictError(`"${persona.name}" is archived and cannot be changed.`, { code: 'persona.archived' })
    }
    const filter = input.filter === undefined ? {} : { filter: readFilter(input.filter, model) }
    const wanted = { ...changes, ...filter }
    if (saysTheSame(persona, wanted)) return persona
    const written = await writePersona(tx, {
      persona,
      changes: wanted,
      model,
      type: 'persona.updated',
      act: actOf(call.viewer),
    })
    await bumpDownstream(tx)
    return written
  })
}

export interface ArchivePersonaInput {
  readonly personaId: string
  readonly expectedRevision?: number
}

/** Takes the persona out of use; it stays readable. Archiving it again changes nothing. @throws NotFoundError, ConflictError */
export async function archivePersona(call: Call, input: ArchivePersonaInput): Promise<Persona> {
  mustBeAllowed(call.viewer, 'orgmodel.edit')
  return writeTransaction(call, async (tx) => {
    const model = await activeModel(tx)
    const persona = await expectedPersona(tx, input)
    if (persona.archivedAt !== null) return persona
    const written = await writePersona(tx, {
      persona,
      changes: { archive: true },
      model,
      type: 'persona.archived',
      act: actOf(call.viewer),
    })
    await bumpDownstream(tx)
    return written
  })
}

/** Takes the persona's row until the transaction ends; null when there is none. Versions are locked before. */
export async function lockPersona(tx: Tx, id: string): Promise<Persona | null> {
  await tx.query(LOCK, [id])
  const row = await tx.prisma.persona.findFirst({ where: { id } })
  return row === null ? null : personaOf(row)
}

export interface PersonaChanges {
  readonly name?: string
  readonly description?: string | null
  readonly filter?: ConditionTree
  readonly kind?: PersonaKind
  readonly archive?: true
}

export interface PersonaWrite {
  /** As `lockPersona` returned it. */
  readonly persona: Persona
  readonly changes: PersonaChanges
  /** What the validity of the result is judged by. */
  readonly model: ModelSnapshot
  /** Of the event: `persona.updated`. */
  readonly type: string
  readonly act: Act
  readonly reason?: string | null
}

/**
 * The one way to change a persona: revision + 1, validity judged anew, references and event in the same
 * transaction. The caller has locked the persona, and bumps the downstream clock when it has written all it has to.
 */
export async function writePersona(
  tx: Tx,
  { persona, changes, model, type, act, reason }: PersonaWrite,
): Promise<Persona> {
  const { archive, filter, ...columns } = changes
  const { kind, filter: finalFilter } = { ...persona, ...changes }
  const row = await tx.prisma.persona.update({
    where: { tenantId_id: { tenantId: tx.tenantId, id: persona.id } },
    data: {
      ...columns,
      ...(filter === undefined ? {} : { filter: json(filter) }),
      ...validityOf({ kind, filter: finalFilter }, model),
      revision: persona.revision + 1,
    },
  })
  const [stamped] = await tx.query(STAMP, [row.id, archive === true])
  const written = personaOf({ ...row, ...stamped })
  await follow(tx, written, { type, act, reason: reason ?? null })
  return written
}

/** What a written persona draws after it: its references and its event. */
async function follow(
  tx: Tx,
  persona: Persona,
  event: { readonly type: string; readonly act: Act; readonly reason: string | null },
): Promise<void> {
  const { source, references } = extractPersona(persona)
  await replaceReferences(tx, source, references)
  const { id, name, kind, validity, revision, archivedAt } = persona
  await appendEvents(tx, [
    {
      tenantId: tx.tenantId,
      subjectKind: 'persona',
      subjectId: id,
      sequence: revision,
      type: event.type,
      from: null,
      to: null,
      reason: event.reason,
      data: { name, kind, validity, revision, archived: archivedAt !== null },
      ...event.act,
    },
  ])
}

/** The active model, which stays active until the transaction ends. */
async function activeModel(tx: Tx): Promise<ModelSnapshot> {
  const active = await lockActive(tx, 'share')
  return loadModel(tx, active.id)
}

async function expectedPersona(
  tx: Tx,
  { personaId, expectedRevision }: { readonly personaId: string; readonly expectedRevision?: number },
): Promise<Persona> {
  const id = canonicalId(personaId)
  const persona = id === null ? null : await lockPersona(tx, id)
  if (persona === null) throw new NotFoundError('The persona', { path: ['personaId'] })
  if (expectedRevision !== undefined && expectedRevision !== persona.revision) throw personaChanged(persona)
  return persona
}

function saysTheSame(persona: Persona, changes: PersonaChanges): boolean {
  const texts = [persona, { ...persona, ...changes }].map(({ name, description, filter }) =>
    canonicalJson([name, description, filter as Json]),
  )
  return texts[0] === texts[1]
}

function readName(name: string): string {
  const trimmed = name.trim()
  mustKeep(labelProblem(trimmed), 'name')
  return trimmed
}

function readDescription(description: string | null | undefined): string | null {
  mustKeep(descriptionProblem(description), 'description')
  return description?.trim() || null
}

// Prisma's type of JSON input does not know readonly arrays.
const json = (filter: ConditionTree) => filter as unknown as object

const LOCK = statement<unknown>(
  'organisation.persona.lock',
  'select from persona where tenant_id = $1::uuid and id = $2::uuid for update',
)

// By the database's clock.
const STAMP = statement<{ updatedAt: Date; archivedAt: Date | null }>(
  'organisation.persona.stamp',
  `update persona set updated_at = now(), archived_at = case when $3::boolean then now() else archived_at end
   where tenant_id = $1::uuid and id = $2::uuid
   returning updated_at as "updatedAt", archived_at as "archivedAt"`,
)
