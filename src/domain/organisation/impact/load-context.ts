import { statement, type Tx } from '../../../database/index.ts'
import { loadModels } from '../model/load.ts'
import { netChanges, type NetChange } from '../model/net-change.ts'
import type { Persona } from '../personas/persona.ts'
import { personasInUse } from '../personas/read.ts'
import type { LockedVersion } from '../versions/lock.ts'
import { resolvedBy, type Holding, type ImpactContext } from './context.ts'

/** The two versions that an evaluation compares. */
export interface Compared {
  readonly active: LockedVersion
  readonly draft: LockedVersion
}

/**
 * Everything the evaluators look at, as things stand: no staged effect is applied and nothing counts as resolved
 * yet. `personas`: only these, which the caller has read and may hold the locks of.
 */
export async function loadContext(
  tx: Tx,
  { active, draft }: Compared,
  personas?: readonly Persona[],
): Promise<ImpactContext> {
  const models = await loadModels(tx, [active.id, draft.id])
  const [activeModel, draftModel] = [models.get(active.id)!, models.get(draft.id)!]
  const changes = netChanges(activeModel, draftModel)
  const { holdings, holders } = await holdingsOf(tx, changes)
  const nothing = new Set<string>()
  return {
    draftVersionId: draft.id,
    baseVersionId: draft.baseVersionId,
    activeVersionId: active.id,
    active: activeModel,
    draft: draftModel,
    changes,
    personas: personas ?? (await personasInUse(tx)),
    holdings,
    holders,
    stagedEffects: [],
    completedResolutionKeys: nothing,
    isResolved: resolvedBy(nothing),
  }
}

async function holdingsOf(
  tx: Tx,
  changes: readonly NetChange[],
): Promise<{ holdings: Holding[]; holders: Map<string, number> }> {
  const attributes = new Set(changes.filter(({ kind }) => LEAVES.has(kind)).map(({ attributeId }) => attributeId))
  const values = changes.flatMap(({ kind, attributeId, valueId }) =>
    kind === 'VALUE_REMOVED' && valueId !== null && !attributes.has(attributeId) ? [{ attributeId, valueId }] : [],
  )
  if (attributes.size === 0 && values.length === 0) return { holdings: [], holders: new Map() }
  const rows = await tx.query(HOLDINGS, [JSON.stringify([...attributes]), JSON.stringify(values)])
  const holdings = rows.filter(({ whole }) => !whole)
  return {
    holdings: holdings.map(({ attributeId, valueId, people }) => ({ attributeId, valueId, people })),
    holders: new Map([
      ...holdings.flatMap(({ valueId, people }): [string, number][] => (valueId === null ? [] : [[valueId, people]])),
      ...rows.filter(({ whole }) => whole).map(({ attributeId, people }): [string, number] => [attributeId, people]),
    ]),
  }
}

const LEAVES: ReadonlySet<string> = new Set(['ATTRIBUTE_REMOVED', 'ATTRIBUTE_REPLACED'])

/** Per value, and (`whole`) per attribute that leaves: who holds two of its values is one person there. */
const HOLDINGS = statement<Holding & { readonly whole: boolean }>(
  'organisation.holdings',
  `with leaving_attribute as (select a::uuid as id from jsonb_array_elements_text($2::jsonb) a),
   leaving_value as (select "attributeId" as attribute_id, "valueId" as id
     from jsonb_to_recordset($3::jsonb) as v("attributeId" uuid, "valueId" uuid))
   select h.attribute_id::text as "attributeId", h.value_id::text as "valueId", grouping(h.value_id) = 1 as whole,
     count(distinct h.person_id)::int as people
   from person_attribute_value h join leaving_attribute l on l.id = h.attribute_id
   where h.tenant_id = $1::uuid
   group by grouping sets ((h.attribute_id), (h.attribute_id, h.value_id))
   union all
   select h.attribute_id::text, h.value_id::text, false, count(distinct h.person_id)::int
   from person_attribute_value h join leaving_value l on l.attribute_id = h.attribute_id and l.id = h.value_id
   where h.tenant_id = $1::uuid
   group by h.attribute_id, h.value_id
   order by 1, 2`,
)
