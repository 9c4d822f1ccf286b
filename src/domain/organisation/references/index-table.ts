import { statement, type Tx } from '../../../database/index.ts'
import type { Reader } from '../reader.ts'
import type { NewReference, Reference, ReferenceSource, SourceKind } from './reference.ts'

/**
 * Makes these the references of the source, in the transaction that writes the source itself: so the index is
 * never behind. The caller bumps the downstream clock.
 */
export async function replaceReferences(
  tx: Tx,
  source: ReferenceSource,
  references: readonly NewReference[],
): Promise<void> {
  await deleteReferences(tx, source.sourceKind, [source.sourceId])
  if (references.length === 0) return
  await tx.query(INSERT, [JSON.stringify(references.map((reference) => ({ ...source, ...reference })))])
}

/** Takes sources that are gone out of the index. */
export async function deleteReferences(tx: Tx, kind: SourceKind, sourceIds: readonly string[]): Promise<void> {
  await tx.query(DELETE, [kind, JSON.stringify(sourceIds)])
}

/** The whole index of one kind of source. */
export const referencesOfKind = (reader: Reader, kind: SourceKind): Promise<Reference[]> =>
  reader.query(OF_KIND, [kind])

const INSERT = statement<unknown>(
  'organisation.reference.insert',
  `insert into org_model_reference
     (tenant_id, source_kind, source_id, source_label, source_state, source_path, role, by, attribute_id, value_id, negated)
   select $1::uuid, "sourceKind", "sourceId", "sourceLabel", "sourceState", path, role, 'ID', "attributeId", "valueId", negated
   from jsonb_to_recordset($2::jsonb) as r(
     "sourceKind" text, "sourceId" uuid, "sourceLabel" text, "sourceState" text, path text, role text,
     "attributeId" uuid, "valueId" uuid, negated boolean)`,
)

const DELETE = statement<unknown>(
  'organisation.reference.delete',
  `delete from org_model_reference
   where tenant_id = $1::uuid and source_kind = $2::text
     and source_id in (select i::uuid from jsonb_array_elements_text($3::jsonb) i)`,
)

const OF_KIND = statement<Reference>(
  'organisation.reference.of_kind',
  `select source_kind as "sourceKind", source_id::text as "sourceId", source_label as "sourceLabel",
          source_state as "sourceState", source_path as path, role, attribute_id::text as "attributeId",
          value_id::text as "valueId", negated
   from org_model_reference
   where tenant_id = $1::uuid and source_kind = $2::text order by source_id, source_path`,
)
