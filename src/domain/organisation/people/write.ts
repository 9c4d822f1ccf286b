import { statement, type Tx } from '../../../database/index.ts'
import { ValidationError } from '../../../errors/index.ts'
import { appendEvents } from '../../../events/index.ts'
import type { Act } from '../../../transitions/index.ts'
import { mustBeAllowed } from '../../../viewer/index.ts'
import type { Call } from '../../call.ts'
import { actOf } from '../act.ts'
import { bumpPeople } from '../clock.ts'
import { canonicalId, newId } from '../ids.ts'
import { loadModel } from '../model/load.ts'
import { lockActive } from '../versions/lock.ts'
import { writeTransaction } from '../write-transaction.ts'
import type { Person } from './person.ts'
import { type PersonInput, type ResolvedPerson, resolvePeople } from './resolve.ts'

export const MOST_PEOPLE_PER_IMPORT = 1_000

export interface PeopleImported {
  readonly created: number
  readonly updated: number
}

/**
 * Writes people by their external id, all or none: new ones are made, known ones get the values that are named.
 * Keys are looked up in the active model. The same import again changes nothing.
 * @throws PeopleInvalidError with the problems by index, ValidationError for an empty or too large batch
 */
export async function importPeople(
  call: Call,
  { people }: { readonly people: readonly PersonInput[] },
): Promise<PeopleImported> {
  mustBeAllowed(call.viewer, 'people.edit')
  if (people.length === 0 || people.length > MOST_PEOPLE_PER_IMPORT) {
    throw new ValidationError(`Import 1 to ${MOST_PEOPLE_PER_IMPORT} people at a time.`, { path: ['people'] })
  }
  return writeTransaction(call, async (tx) => {
    const written = await writePeople(tx, people, actOf(call.viewer), 'people.imported')
    return {
      created: written.filter((person) => person.created).length,
      updated: written.filter((person) => !person.created).length,
    }
  })
}

/** One person, as `importPeople`. */
export async function upsertPerson(call: Call, input: PersonInput): Promise<Person> {
  mustBeAllowed(call.viewer, 'people.edit')
  return writeTransaction(call, async (tx) => {
    const [written] = await writePeople(tx, [input], actOf(call.viewer), 'people.upserted')
    if (written === undefined) throw new Error('A person was written, but the database did not say so.')
    const { created: _, ...person } = written
    return person
  })
}

/** Deletes a person and all it holds, archived values too. `erased` is false when there was no such person. */
export async function erasePerson(call: Call, input: { readonly personId: string }): Promise<{ erased: boolean }> {
  mustBeAllowed(call.viewer, 'people.edit')
  const id = canonicalId(input.personId)
  if (id === null) return { erased: false }
  return writeTransaction(call, async (tx) => {
    await lockActive(tx, 'share')
    const known = await tx.prisma.person.count({ where: { id } })
    if (known === 0) return { erased: false }
    const revision = await bumpPeople(tx)
    const { count } = await tx.prisma.person.deleteMany({ where: { id } })
    await happened(tx, { type: 'people.erased', revision, act: actOf(call.viewer), data: { erased: count } })
    return { erased: count === 1 }
  })
}

type Written = Person & { readonly created: boolean }

async function writePeople(
  tx: Tx,
  people: readonly PersonInput[],
  act: Act,
  type: 'people.imported' | 'people.upserted',
): Promise<Written[]> {
  const active = await lockActive(tx, 'share')
  const resolved = resolvePeople(await loadModel(tx, active.id), people)
  // Before the people: two imports of one tenant then follow each other and cannot deadlock over their rows.
  const revision = await bumpPeople(tx)
  const written = await tx.query(UPSERT, [
    JSON.stringify(resolved.map(({ externalId }) => ({ id: newId(), externalId }))),
  ])
  const ids = new Map(written.map(({ externalId, id }) => [externalId, id]))
  const { named, values } = rowsOf(resolved, ids)
  await tx.query(CLEAR, [named, values])
  await tx.query(FILL, [values])
  const created = written.filter((person) => person.created).length
  const data = { created, updated: written.length - created }
  await happened(tx, { type, revision, act, data })
  return written
}

/** What the people name and what they are to hold, each as one JSON text. */
function rowsOf(resolved: readonly ResolvedPerson[], ids: ReadonlyMap<string, string>) {
  const named = resolved.flatMap(({ externalId, attributeIds }) =>
    attributeIds.map((attributeId) => ({ personId: ids.get(externalId), attributeId })),
  )
  const values = resolved.flatMap((person) =>
    person.values.map((value) => ({ personId: ids.get(person.externalId), ...value })),
  )
  return { named: JSON.stringify(named), values: JSON.stringify(values) }
}

/** One event per call, however many people: a count says what a dashboard shows, and nothing about anybody. */
async function happened(
  tx: Tx,
  event: { type: string; revision: number; act: Act; data: Readonly<Record<string, number>> },
): Promise<void> {
  await appendEvents(tx, [
    {
      tenantId: tx.tenantId,
      subjectKind: 'people',
      subjectId: tx.tenantId,
      sequence: event.revision,
      type: event.type,
      from: null,
      to: null,
      reason: null,
      data: event.data,
      ...event.act,
    },
  ])
}

// `xmax = 0` tells a new row from one that was there.
const UPSERT = statement<Written>(
  'organisation.people.upsert',
  `insert into person (tenant_id, id, external_id)
   select $1::uuid, id, "externalId" from jsonb_to_recordset($2::jsonb) as g(id uuid, "externalId" text)
   on conflict (tenant_id, external_id) do update set updated_at = now()
   returning id::text, external_id as "externalId", created_at as "createdAt", updated_at as "updatedAt",
             xmax::text = '0' as created`,
)

const GIVEN = `as g("personId" uuid, "attributeId" uuid, item smallint, "valueId" uuid, text text, number numeric,
  date date, bool boolean)`

// Only what differs goes, so that the same import again writes nothing. A statement of its own before FILL: the
// unique index on a person's values does not wait for the end of a statement, and [A, B] may become [B, A].
const CLEAR = statement<unknown>(
  'organisation.people.clear',
  `delete from person_attribute_value v
   using jsonb_to_recordset($2::jsonb) as n("personId" uuid, "attributeId" uuid)
   where v.tenant_id = $1::uuid and v.person_id = n."personId" and v.attribute_id = n."attributeId"
     and not exists (
       select from jsonb_to_recordset($3::jsonb) ${GIVEN}
       where g."personId" = v.person_id and g."attributeId" = v.attribute_id and g.item = v.item
         and (g."valueId", g.text, g.number, g.date, g.bool)
             is not distinct from (v.value_id, v.text, v.number, v.date, v.bool))`,
)

const FILL = statement<unknown>(
  'organisation.people.fill',
  `insert into person_attribute_value (tenant_id, person_id, attribute_id, item, value_id, text, number, date, bool)
   select $1::uuid, "personId", "attributeId", item, "valueId", text, number, date, bool
   from jsonb_to_recordset($2::jsonb) ${GIVEN}
   on conflict (tenant_id, person_id, attribute_id, item) do nothing`,
)
