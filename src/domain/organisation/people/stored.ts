import type { StoredFields } from '../../conditions/index.ts'

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
