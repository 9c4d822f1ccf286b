import { z } from 'zod'
import { statement } from '../../../database/index.ts'
import {
  batchDone,
  type CandidateOutcome,
  defineJob,
  defineSchedule,
  eachCandidate,
  type JobContext,
} from '../../../jobs/index.ts'
import { bumpDownstream } from '../clock.ts'
import { personaExtractor } from '../personas/references.ts'
import { rebuildReferences } from '../references/rebuild.ts'
import { stagedEffectExtractor } from '../resolutions/effect-references.ts'
import { lockVersions } from '../versions/lock.ts'

const EXTRACTORS = [personaExtractor, stagedEffectExtractor]

/** Tenants read at once. */
const PAGE = 500

/**
 * Computes the index of references of every tenant again and compares: a difference is a fault in whatever writes the
 * index, so it is logged, and repaired. Processed are tenants whose index was repaired, skipped those whose was right.
 */
export const referenceRebuild = defineJob({
  type: 'orgmodel.reference_rebuild',
  class: 'MAINTENANCE',
  payload: z.strictObject({}),
  timeoutMs: 60 * 60_000,
  idempotency: 'It makes the index what the sources say; when it says that already, nothing is written.',
  displayName: () => 'Comparison of the index of references with its sources',
  async run(_payload, context) {
    const result = await eachCandidate(
      context,
      tenants(context),
      (tenantId) => tenantId,
      (tenantId) => compare(context, tenantId),
    )
    return batchDone(result, context.correlationId, { retryWhenFailed: true })
  },
})

/** At night in Europe, when few edit; a tenant's edits wait while its references are compared. */
export const referenceRebuildNightly = defineSchedule({
  name: referenceRebuild.type,
  job: referenceRebuild,
  payload: {},
  cron: '30 1 * * *',
})

async function* tenants(context: JobContext): AsyncGenerator<string> {
  for (let after = '00000000-0000-0000-0000-000000000000'; ; ) {
    const page = await context.step((tx) => tx.run(TENANTS, [after, PAGE]))
    for (const { tenantId } of page) yield tenantId
    if (page.length < PAGE) return
    after = page.at(-1)!.tenantId
  }
}

function compare(context: JobContext, tenantId: string): Promise<CandidateOutcome> {
  return context.stepFor(tenantId, async (tx) => {
    await lockVersions(tx, 'update')
    const drifts = await rebuildReferences(tx, EXTRACTORS)
    if (drifts.length === 0) return 'SKIPPED'
    // What was evaluated by the wrong index is no longer up to date.
    await bumpDownstream(tx)
    for (const { sourceKind, sourceId, missing, orphaned } of drifts)
      context.log.error(
        { tenantId, sourceKind, sourceId, missing: missing.length, orphaned: orphaned.length },
        'The index of references was not what its source says, and is repaired. Whatever wrote one without the other is faulty.',
      )
    return 'PROCESSED'
  })
}

// Every tenant has one active version, from its first moment on.
const TENANTS = statement<{ tenantId: string }>(
  'organisation.tenants_with_model',
  `select tenant_id::text as "tenantId" from org_model_version
   where status = 'ACTIVE' and tenant_id > $1::uuid order by tenant_id limit $2::int`,
)
