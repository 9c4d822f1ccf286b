import type { Tx } from '../../../database/index.ts'
import { mustBeAllowed } from '../../../viewer/index.ts'
import type { Call } from '../../call.ts'
import { resolutionsInFlight } from '../resolutions/in-flight.ts'
import { NoDraftError } from '../versions/errors.ts'
import { lockVersions } from '../versions/lock.ts'
import { obstacles, type Activatability } from './can-activate.ts'
import type { Composition } from './composition.ts'
import { issuesOf, newestEvaluation } from './evaluation-store.ts'
import { freshEvaluation, inputsOf, type EvaluationWithIssues } from './fresh-evaluation.ts'
import type { Compared } from './load-context.ts'

/**
 * What the open draft would do, as of now.
 * @throws NoDraftError, ForbiddenError
 */
export async function evaluateDraft(composition: Composition, call: Call): Promise<EvaluationWithIssues> {
  mustBeAllowed(call.viewer, 'orgmodel.read')
  return call.database.transaction(call.viewer.tenantId, async (tx) =>
    freshEvaluation(tx, composition, await openVersions(tx), 'QUERY'),
  )
}

/**
 * Whether the open draft can be activated, and if not, why. Display only: the activation decides anew, under lock.
 * `bringUpToDate: false` answers from the newest evaluation, however old.
 * @throws NoDraftError, ForbiddenError
 */
export async function canActivate(
  composition: Composition,
  call: Call,
  { bringUpToDate = true }: { readonly bringUpToDate?: boolean } = {},
): Promise<Activatability> {
  mustBeAllowed(call.viewer, 'orgmodel.read')
  return call.database.transaction(call.viewer.tenantId, async (tx) => {
    const versions = await openVersions(tx)
    const { known, stale } = bringUpToDate
      ? { known: await freshEvaluation(tx, composition, versions, 'QUERY'), stale: false }
      : await asKnown(tx, composition, versions)
    const inFlight = new Set((await resolutionsInFlight(tx, versions.draft.id)).map(({ issueKey }) => issueKey))
    const reasons = known === null ? [] : obstacles(known.issues, inFlight)
    if (stale) reasons.push({ code: 'orgmodel.version.evaluation_stale', issueKeys: [] })
    return { canActivate: reasons.length === 0, reasons, evaluatedAt: known?.evaluation.evaluatedAt ?? null, stale }
  })
}

async function openVersions(tx: Tx): Promise<Compared> {
  const { active, draft } = await lockVersions(tx, 'share')
  if (draft === null) throw new NoDraftError()
  return { active, draft }
}

async function asKnown(
  tx: Tx,
  composition: Composition,
  versions: Compared,
): Promise<{ known: EvaluationWithIssues | null; stale: boolean }> {
  const newest = await newestEvaluation(tx, versions.draft.id)
  if (newest === null) return { known: null, stale: true }
  const now = await inputsOf(tx, composition, versions)
  const stale = Object.entries(now).some(([input, value]) => newest[input as keyof typeof now] !== value)
  return { known: { evaluation: newest, issues: await issuesOf(tx, newest.id) }, stale }
}
