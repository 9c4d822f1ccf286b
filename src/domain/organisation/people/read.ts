import { statement, type TenantPrisma } from '../../../database/index.ts'
import { mustBeAllowed } from '../../../viewer/index.ts'
import type { Call } from '../../call.ts'
import { type Page, pageOf, type PageRequest, rowsToRead } from '../../page.ts'
import { canonicalId, canonicalIds } from '../ids.ts'
import { grouped } from '../model/grouped.ts'
import { readerOf } from '../reader.ts'
import type { Person, PersonValue } from './person.ts'

export async function personById(call: Call, id: string): Promise<Person | null> {
  return (await peopleByIds(call, [id])).get(canonicalId(id) ?? id) ?? null
}

/** Those of the people that exist, by id. */
export async function peopleByIds(call: Call, ids: readonly string[]): Promise<ReadonlyMap<string, Person>> {
  const rows = await (await people(call)).findMany({ where: { id: { in: canonicalIds(ids) } }, select: COLUMNS })
  return new Map(rows.map((row) => [row.id, row]))
}

export async function personByExternalId(call: Call, externalId: string): Promise<Person | null> {
  return (await people(call)).findFirst({ where: { externalId }, select: COLUMNS })
}

export interface PersonKey {
  readonly id: string
}

export const personKey = ({ id }: PersonKey): PersonKey => ({ id })

/** The tenant's people in the order in which they came. */
export async function listPeople(call: Call, request: PageRequest<PersonKey>): Promise<Page<Person>> {
  const { after, before } = request
  const id = { ...(after === undefined ? {} : { gt: after.id }), ...(before === undefined ? {} : { lt: before.id }) }
  const rows = await (await people(call)).findMany({
    where: after === undefined && before === undefined ? {} : { id },
    orderBy: { id: before === undefined ? 'asc' : 'desc' },
    take: rowsToRead(request),
    select: COLUMNS,
  })
  return pageOf(request, rows)
}

export async function countPeople(call: Call): Promise<number> {
  return (await people(call)).count()
}

/** What these people hold, by person, in order of attribute and item; a person who holds nothing has no entry. */
export async function personValues(
  call: Call,
  personIds: readonly string[],
): Promise<ReadonlyMap<string, readonly PersonValue[]>> {
  mustBeAllowed(call.viewer, 'people.read')
  const rows = await readerOf(call).query(VALUES, [JSON.stringify(canonicalIds(personIds))])
  const byPerson = grouped(rows, ({ personId }) => personId)
  return new Map(
    [...byPerson].map(([personId, values]) => [personId, values.map(({ personId: _, ...value }) => value)]),
  )
}

const COLUMNS = { id: true, externalId: true, createdAt: true, updatedAt: true } as const

async function people(call: Call): Promise<TenantPrisma['person']> {
  mustBeAllowed(call.viewer, 'people.read')
  return (await call.database.forTenant(call.viewer.tenantId)).person
}

const VALUES = statement<PersonValue & { personId: string }>(
  'organisation.people.values',
  `select person_id::text as "personId", attribute_id::text as "attributeId", item::int, value_id::text as "valueId",
          text, number::float8, date::text, bool
   from person_attribute_value
   where tenant_id = $1::uuid and person_id in (select i::uuid from jsonb_array_elements_text($2::jsonb) i)
   order by person_id, attribute_id, item`,
)
