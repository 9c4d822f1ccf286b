import type { Tx } from '../../../database/index.ts'
import { grouped } from '../model/grouped.ts'
import { deleteReferences, referencesOfKind, replaceReferences } from './index-table.ts'
import type { NewReference, Reference, ReferenceSource, SourceKind } from './reference.ts'

/** A source together with all its references, computed from the source itself. */
export interface ExtractedSource {
  readonly source: ReferenceSource
  readonly references: readonly NewReference[]
}

/** How the references of one kind of source are found: the same function that writes them with the source. */
export interface ReferenceExtractor {
  readonly sourceKind: SourceKind
  /** Every source of the tenant. */
  extractAll(tx: Tx): Promise<readonly ExtractedSource[]>
}

/** What the index said that it should not, or did not say. A difference is a fault somewhere: report it. */
export interface ReferenceDrift {
  readonly sourceKind: SourceKind
  readonly sourceId: string
  /** In the source but not in the index. */
  readonly missing: readonly Reference[]
  /** In the index but not in the source. */
  readonly orphaned: readonly Reference[]
}

/**
 * Computes the index of the tenant again, repairs it and tells what was different. Reads everything: for a
 * maintenance job, not for a request. The caller has locked the versions, so that no source changes meanwhile.
 */
export async function rebuildReferences(
  tx: Tx,
  extractors: readonly ReferenceExtractor[],
): Promise<readonly ReferenceDrift[]> {
  const drifts: ReferenceDrift[] = []
  for (const { sourceKind, extractAll } of extractors) {
    const indexed = grouped(await referencesOfKind(tx, sourceKind), ({ sourceId }) => sourceId)
    for (const { source, references } of await extractAll(tx)) {
      const should = references.map((reference) => ({ ...source, ...reference }))
      const drift = difference(source, should, indexed.get(source.sourceId) ?? [])
      indexed.delete(source.sourceId)
      if (drift === null) continue
      drifts.push(drift)
      await replaceReferences(tx, source, references)
    }
    const gone = [...indexed.entries()]
    if (gone.length === 0) continue
    drifts.push(...gone.map(([sourceId, orphaned]) => ({ sourceKind, sourceId, missing: [], orphaned })))
    await deleteReferences(
      tx,
      sourceKind,
      gone.map(([sourceId]) => sourceId),
    )
  }
  return drifts
}

function difference(
  { sourceKind, sourceId }: ReferenceSource,
  should: readonly Reference[],
  is: readonly Reference[],
): ReferenceDrift | null {
  const wanted = new Set(should.map(textOf))
  const found = new Set(is.map(textOf))
  const missing = should.filter((reference) => !found.has(textOf(reference)))
  const orphaned = is.filter((reference) => !wanted.has(textOf(reference)))
  return missing.length + orphaned.length === 0 ? null : { sourceKind, sourceId, missing, orphaned }
}

const textOf = (reference: Reference): string =>
  JSON.stringify([
    reference.path,
    reference.role,
    reference.attributeId,
    reference.valueId,
    reference.negated,
    reference.sourceLabel,
    reference.sourceState,
  ])
