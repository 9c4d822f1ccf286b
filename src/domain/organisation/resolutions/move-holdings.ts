import { statement } from '../../../database/index.ts'

/**
 * Takes what people hold of an attribute ($2), or of one of its values ($3), out of the living table and into the
 * archive of the activated version, and gives them the mapped values instead ($6). One statement, so that no
 * reader sees a person without either. Everything passes through the archive, also what is only moved or cleared:
 * that is the inverse of the effect.
 *
 * A person who already holds something of the attribute moved to keeps that: `on conflict do nothing`. The insert
 * reads the deleted rows, so a value merged within its own attribute finds its place free.
 */
export const MOVE_HOLDINGS = statement<{ people: number }>(
  'organisation.move_holdings',
  `with map as (
    select "from", "to", attribute_id, several
    from jsonb_to_recordset($6::jsonb) as m("from" uuid, "to" uuid, attribute_id uuid, several boolean)
  ), taken as (
    delete from person_attribute_value
    where tenant_id = $1::uuid and attribute_id = $2::uuid and ($3::uuid is null or value_id = $3::uuid)
    returning *
  ), archived as (
    insert into person_attribute_value_archive
      (tenant_id, person_id, attribute_id, item, value_id, text, number, date, bool, version_id, delete_after)
    select tenant_id, person_id, attribute_id, item, value_id, text, number, date, bool, $4::uuid,
      now() + make_interval(days => $5::int)
    from taken
  ), moved as (
    insert into person_attribute_value (tenant_id, person_id, attribute_id, item, value_id)
    select t.tenant_id, t.person_id, m.attribute_id,
      case when m.attribute_id = t.attribute_id then t.item
           when m.several then row_number() over (partition by t.person_id, m.attribute_id order by t.item)
             + coalesce((select max(h.item) from person_attribute_value h where h.tenant_id = t.tenant_id
                 and h.person_id = t.person_id and h.attribute_id = m.attribute_id), -1)
           else 0 end,
      m."to"
    from taken t join map m on m."from" = t.value_id
    where m."to" is not null
    on conflict do nothing
  )
  select count(distinct person_id)::int as people from taken`,
)

/** People who hold something of the attribute ($2), or of one of its values ($3), that the list ($4) does not name. */
export const COUNT_HOLDERS = statement<{ people: number }>(
  'organisation.count_holders',
  `select count(distinct person_id)::int as people from person_attribute_value
   where tenant_id = $1::uuid and attribute_id = $2::uuid and ($3::uuid is null or value_id = $3::uuid)
     and (value_id is null or value_id not in (select v::uuid from jsonb_array_elements_text($4::jsonb) v))`,
)
