import { statement } from '../../../database/index.ts'
import type { Reader } from '../reader.ts'
import { grouped } from './grouped.ts'
import type { ModelAttribute, ModelSnapshot, ModelValue } from './model.ts'
import { snapshotOf } from './model.ts'

/** The content of a version; a version that does not exist, or not for this tenant, has none. */
export async function loadModel(reader: Reader, versionId: string): Promise<ModelSnapshot> {
  return (await loadModels(reader, [versionId])).get(versionId) as ModelSnapshot
}

/** The content of several versions, read in one snapshot. */
export async function loadModels(
  reader: Reader,
  versionIds: readonly string[],
): Promise<ReadonlyMap<string, ModelSnapshot>> {
  const rows = await reader.query(LOAD, [JSON.stringify(versionIds)])
  const byVersion = grouped(rows, ({ versionId }) => versionId)
  return new Map(
    versionIds.map((versionId) => [
      versionId,
      snapshotOf(versionId, (byVersion.get(versionId) ?? []).map(attributeOf)),
    ]),
  )
}

interface Row extends Omit<ModelAttribute, 'values'> {
  readonly versionId: string
  // Read as JSON, where a moment is text.
  readonly values: readonly (Omit<ModelValue, 'deprecatedAt' | 'attributeId'> & { deprecatedAt: string | null })[]
}

// Attributes and values in one statement: two would see a draft before and after an edit.
const LOAD = statement<Row>(
  'organisation.model.load',
  `select s.version_id::text as "versionId", s.attribute_id::text as id, s.key, s.label, s.description,
          s.data_type as "dataType", s.required, s.default_value_id::text as "defaultValueId",
          s.replaces_attribute_id::text as "replacesAttributeId", s.source, s.sensitive,
          s.deprecated_at as "deprecatedAt", s.sort_order as "sortOrder", coalesce(v.list, '[]') as values
   from org_model_attribute_state s
   left join lateral (
     select jsonb_agg(jsonb_build_object(
              'id', v.value_id, 'key', v.key, 'label', v.label, 'parentValueId', v.parent_value_id,
              'deprecatedAt', v.deprecated_at, 'sortOrder', v.sort_order) order by v.sort_order, v.value_id) as list
     from org_model_value_state v
     where v.tenant_id = s.tenant_id and v.version_id = s.version_id and v.attribute_id = s.attribute_id
   ) v on true
   where s.tenant_id = $1::uuid and s.version_id in (select i::uuid from jsonb_array_elements_text($2::jsonb) i)
   order by s.version_id, s.sort_order, s.attribute_id`,
)

const attributeOf = ({ versionId: _, values, ...attribute }: Row): ModelAttribute => ({
  ...attribute,
  values: values.map((value) => ({
    ...value,
    attributeId: attribute.id,
    deprecatedAt: value.deprecatedAt === null ? null : new Date(value.deprecatedAt),
  })),
})
