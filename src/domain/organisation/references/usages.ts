import { statement } from '../../../database/index.ts'
import { mustBeAllowed } from '../../../viewer/index.ts'
import type { Call } from '../../call.ts'
import { type Page, pageOf, type PageRequest, rowsToRead } from '../../page.ts'
import { canonicalId } from '../ids.ts'
import { readerOf } from '../reader.ts'
import { REFERENCE_COLUMNS } from './index-table.ts'
import type { Reference } from './reference.ts'

export interface UsageFilter {
  /** Exactly one of the two; the usages of an attribute include those of its values. */
  readonly attributeId?: string
  readonly valueId?: string
}

export interface UsageKey {
  readonly sourceKind: string
  readonly sourceId: string
  readonly path: string
}

export const usageKey = ({ sourceKind, sourceId, path }: UsageKey): UsageKey => ({ sourceKind, sourceId, path })

/** Where an attribute or a value is used, by source. */
export async function listUsages(call: Call, request: UsageFilter & PageRequest<UsageKey>): Promise<Page<Reference>> {
  mustBeAllowed(call.viewer, 'orgmodel.read')
  const { after, before } = request
  const from = before ?? after
  const rows = await readerOf(call).query(before === undefined ? FORWARDS : BACKWARDS, [
    idOf(request.attributeId),
    idOf(request.valueId),
    rowsToRead(request),
    from?.sourceKind ?? null,
    from === undefined ? null : canonicalId(from.sourceId),
    from?.path ?? null,
  ])
  return pageOf(request, rows)
}

// An id that is no UUID is used nowhere.
const idOf = (id: string | undefined): string | null => (id === undefined ? null : (canonicalId(id) ?? NOWHERE))
const NOWHERE = '00000000-0000-0000-0000-000000000000'

const usages = (name: string, past: '>' | '<', order: 'asc' | 'desc') =>
  statement<Reference>(
    `organisation.reference.usages.${name}`,
    `select ${REFERENCE_COLUMNS} from org_model_reference
     where tenant_id = $1::uuid and (attribute_id = $2::uuid or value_id = $3::uuid)
       and ($5::text is null or (source_kind, source_id, source_path) ${past} ($5::text, $6::uuid, $7::text))
     order by source_kind ${order}, source_id ${order}, source_path ${order}
     limit $4::int`,
  )

const FORWARDS = usages('forwards', '>', 'asc')
const BACKWARDS = usages('backwards', '<', 'desc')
