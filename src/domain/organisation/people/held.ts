import { statement } from '../../../database/index.ts'
import type { Held, Holds, StoredFields } from '../../conditions/index.ts'
import type { Reader } from '../reader.ts'

/** A person as a condition sees it. */
export interface HeldByPerson {
  readonly personId: string
  readonly holds: Holds
}

/**
 * All people with what they hold of these attributes: for deciding many filters over the same people at once,
 * where one statement per filter would read them again and again.
 */
export async function loadHeld(reader: Reader, attributeIds: readonly string[]): Promise<HeldByPerson[]> {
  const rows = await reader.query(LOAD, [JSON.stringify(attributeIds)])
  return rows.map(({ personId, held }) => ({ personId, holds: (field) => held[field] ?? NOTHING }))
}

const NOTHING: readonly Held[] = []

/** How people's values stand in the database, for `selectionSql`; the tenant is `$1`. */
export const STORED: StoredFields = {
  everything: 'select p.id from person p where p.tenant_id = $1::uuid',
  holding(field, test, parameters) {
    const attribute = `${parameters.add(field)}::text::uuid`
    const also = test === null ? '' : ` and ${test}`
    return `select v.person_id as id from person_attribute_value v
            where v.tenant_id = $1::uuid and v.attribute_id = ${attribute}${also}`
  },
  column: { TEXT: 'v.text', NUMBER: 'v.number', BOOLEAN: 'v.bool', DATE: 'v.date', CHOICE: 'v.value_id' },
}

const LOAD = statement<{ personId: string; held: Readonly<Record<string, readonly Held[]>> }>(
  'organisation.people.held',
  `select p.id::text as "personId", coalesce(h.held, '{}') as held
   from person p
   left join (
     select person_id, jsonb_object_agg(attribute_id, list) as held
     from (
       select person_id, attribute_id,
              jsonb_agg(coalesce(to_jsonb(value_id), to_jsonb(text), to_jsonb(number), to_jsonb(date), to_jsonb(bool))
                        order by item) as list
       from person_attribute_value
       where tenant_id = $1::uuid and attribute_id in (select i::uuid from jsonb_array_elements_text($2::jsonb) i)
       group by person_id, attribute_id
     ) of_attribute
     group by person_id
   ) h on h.person_id = p.id
   where p.tenant_id = $1::uuid
   order by p.id`,
)
