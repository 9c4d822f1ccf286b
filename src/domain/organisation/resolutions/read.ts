import { statement } from '../../../database/index.ts'
import { mustBeAllowed } from '../../../viewer/index.ts'
import type { Call } from '../../call.ts'
import { pageOf, rowsToRead, type Page, type PageRequest } from '../../page.ts'
import { canonicalId, canonicalIds } from '../ids.ts'
import { readerOf } from '../reader.ts'
import type { ResolutionStatus } from './lifecycle.ts'
import { BY_IDS, RESOLUTION_COLUMNS, type Resolution } from './resolution.ts'

/** The resolution; null when there is none for this viewer. */
export async function resolutionById(call: Call, id: string): Promise<Resolution | null> {
  return (await resolutionsByIds(call, [id])).get(canonicalId(id) ?? id) ?? null
}

/** Those of the resolutions that exist, by id. */
export async function resolutionsByIds(call: Call, ids: readonly string[]): Promise<ReadonlyMap<string, Resolution>> {
  mustBeAllowed(call.viewer, 'orgmodel.read')
  const rows = await readerOf(call).query(BY_IDS, [JSON.stringify(canonicalIds(ids))])
  return new Map(rows.map((row) => [row.id, row]))
}

export interface ResolutionFilter {
  readonly draftVersionId: string
  readonly statuses?: readonly ResolutionStatus[]
  readonly issueCode?: string
}

export interface ResolutionKey {
  readonly id: string
}

export const resolutionKey = ({ id }: ResolutionKey): ResolutionKey => ({ id })

/** The resolutions of a draft in the order of their first submission. */
export async function resolutionsOfDraft(
  call: Call,
  request: ResolutionFilter & PageRequest<ResolutionKey>,
): Promise<Page<Resolution>> {
  mustBeAllowed(call.viewer, 'orgmodel.read')
  const { after, before } = request
  const key = before ?? after
  const rows = await readerOf(call).query(before === undefined ? FORWARDS : BACKWARDS, [
    ...matching(request),
    key === undefined ? null : canonicalId(key.id),
    rowsToRead(request),
  ])
  return pageOf(request, rows)
}

/** How many there are. */
export async function countResolutions(call: Call, filter: ResolutionFilter): Promise<number> {
  mustBeAllowed(call.viewer, 'orgmodel.read')
  const [row] = await readerOf(call).query(COUNT, matching(filter))
  return row?.count ?? 0
}

/** The resolutions of some issues of one draft, by issue key: what joins an issue with how far its repair is. */
export async function resolutionsOfIssues(
  call: Call,
  draftVersionId: string,
  issueKeys: readonly string[],
): Promise<ReadonlyMap<string, Resolution>> {
  mustBeAllowed(call.viewer, 'orgmodel.read')
  const rows = await readerOf(call).query(OF_ISSUES, [canonicalId(draftVersionId), JSON.stringify(issueKeys)])
  return new Map(rows.map((row) => [row.issueKey, row]))
}

const matching = ({ draftVersionId, statuses, issueCode }: ResolutionFilter) => [
  canonicalId(draftVersionId),
  statuses === undefined ? null : JSON.stringify(statuses),
  issueCode ?? null,
]

const MATCHING = `tenant_id = $1::uuid and draft_version_id = $2::uuid
  and ($3::jsonb is null or status in (select s from jsonb_array_elements_text($3::jsonb) s))
  and ($4::text is null or issue_code = $4::text)`

const FORWARDS = statement<Resolution>(
  'organisation.resolutions.after',
  `select ${RESOLUTION_COLUMNS} from org_model_draft_resolution
   where ${MATCHING} and ($5::uuid is null or id > $5::uuid) order by org_model_draft_resolution.id limit $6::int`,
)

const BACKWARDS = statement<Resolution>(
  'organisation.resolutions.before',
  `select ${RESOLUTION_COLUMNS} from org_model_draft_resolution
   where ${MATCHING} and ($5::uuid is null or id < $5::uuid) order by org_model_draft_resolution.id desc limit $6::int`,
)

const COUNT = statement<{ count: number }>(
  'organisation.resolutions.count',
  `select count(*)::int as count from org_model_draft_resolution where ${MATCHING}`,
)

const OF_ISSUES = statement<Resolution>(
  'organisation.resolutions.of_issues',
  `select ${RESOLUTION_COLUMNS} from org_model_draft_resolution
   where tenant_id = $1::uuid and draft_version_id = $2::uuid
     and issue_key in (select k from jsonb_array_elements_text($3::jsonb) k)`,
)
