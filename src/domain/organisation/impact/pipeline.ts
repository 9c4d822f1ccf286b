import type { AnyResolutionAction } from '../resolutions/action.ts'
import { payloadSchemaOf } from '../resolutions/action.ts'
import type { Composition, PIPELINE_CODES } from './composition.ts'
import type { ImpactContext } from './context.ts'
import type { Evaluator } from './evaluator.ts'
import { basisOf, fingerprintOf } from './fingerprint.ts'
import { canonicalEntityId, issueKey, type ActionOffer, type Finding, type Issue, type Proposal } from './issue.ts'

/** How one evaluator did, kept with the evaluation. */
export interface EvaluatorRun {
  readonly code: string
  readonly version: number
  readonly outcome: 'OK' | 'FAILED' | 'TIMED_OUT'
  readonly ms: number
  readonly issues: number
}

/** An issue before anybody has asked whether it is resolved. */
export type BareIssue = Omit<Issue, 'state' | 'resolutionId' | 'staleReason'>

export interface PipelineResult {
  readonly issues: ReadonlyMap<string, BareIssue>
  readonly runs: readonly EvaluatorRun[]
}

/** Longest time one evaluator may take, in milliseconds. */
export const EVALUATOR_TIMEOUT_MS = 5_000

/**
 * Runs every evaluator over one context and merges what they found into one issue per key (C10). One that throws,
 * takes too long or reports what it never declared becomes a blocking issue of its own name (C39): unknown is
 * never taken for safe.
 */
export async function runEvaluators(
  composition: Composition,
  context: ImpactContext,
  timeoutMs = EVALUATOR_TIMEOUT_MS,
): Promise<PipelineResult> {
  const reports = await Promise.all(
    composition.evaluators.map((evaluator) => runOne(composition, evaluator, context, timeoutMs)),
  )
  const issues = new Map<string, BareIssue>()
  for (const issue of reports.flatMap((report) => report.issues).toSorted((a, b) => (a.key < b.key ? -1 : 1)))
    issues.set(issue.key, issue)
  return { issues, runs: reports.map((report) => report.run) }
}

async function runOne(
  composition: Composition,
  evaluator: Evaluator,
  context: ImpactContext,
  timeoutMs: number,
): Promise<{ issues: BareIssue[]; run: EvaluatorRun }> {
  const { code, version } = evaluator
  const started = performance.now()
  const finish = (outcome: EvaluatorRun['outcome'], issues: BareIssue[]) => ({
    issues,
    run: { code, version, outcome, ms: Math.round(performance.now() - started), issues: issues.length },
  })
  try {
    const findings = await within(timeoutMs, (signal) => evaluator.evaluate(context, signal))
    return finish('OK', issuesOf(composition, evaluator, findings))
  } catch (error) {
    const outcome = error instanceof TookTooLong ? 'TIMED_OUT' : 'FAILED'
    return finish(outcome, [failedIssue(composition, evaluator, outcome)])
  }
}

class TookTooLong extends Error {}

async function within<T>(timeoutMs: number, work: (signal: AbortSignal) => T | Promise<T>): Promise<T> {
  const controller = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new TookTooLong())
      controller.abort()
    }, timeoutMs)
  })
  try {
    return await Promise.race([work(controller.signal), deadline])
  } finally {
    clearTimeout(timer)
  }
}

function issuesOf(composition: Composition, evaluator: Evaluator, findings: readonly Finding[]): BareIssue[] {
  const byKey = new Map<string, Finding>()
  for (const finding of findings) {
    if (evaluator.codes[finding.code] === undefined)
      throw new Error(`The evaluator "${evaluator.code}" reported the undeclared code "${finding.code}".`)
    if (
      finding.entityId !== null &&
      (finding.entityId === '' || canonicalEntityId(finding.entityId) !== finding.entityId)
    )
      throw new Error(`The evaluator "${evaluator.code}" reported an entity id that is not canonical.`)
    const key = issueKey(finding.code, finding.entityId)
    const before = byKey.get(key)
    byKey.set(key, before === undefined ? finding : merged(before, finding))
  }
  return [...byKey.values()].map((finding) => issueOf(composition, evaluator, finding))
}

/** Two findings of one key are one problem with more places. */
function merged(a: Finding, b: Finding): Finding {
  const counts = [a.affectedCount, b.affectedCount].filter((count) => count !== null)
  return {
    ...a,
    changes: [...a.changes, ...b.changes.filter((change) => a.changes.every(({ id }) => id !== change.id))],
    references: [...a.references, ...b.references],
    affectedCount: counts.length === 0 ? null : Math.max(...counts),
    message: a.message === b.message ? a.message : `${a.message} ${b.message}`,
    proposals: [
      ...a.proposals,
      ...b.proposals.filter(({ actionType }) => a.proposals.every((offered) => offered.actionType !== actionType)),
    ],
  }
}

function issueOf(composition: Composition, evaluator: Evaluator, finding: Finding): BareIssue {
  const key = issueKey(finding.code, finding.entityId)
  const basis = basisOf(`${evaluator.code}@${evaluator.version}`, finding)
  const declared = composition.codes.get(finding.code)!
  return {
    key,
    code: finding.code,
    severity: declared.severity,
    entityKind: declared.entity,
    entityId: finding.entityId,
    entityLabel: finding.entityLabel,
    fingerprint: fingerprintOf(key, basis),
    basis,
    message: finding.message,
    changes: finding.changes,
    references: finding.references,
    affectedCount: finding.affectedCount,
    availableActions: finding.proposals.map((proposal) => offerOf(composition, evaluator, proposal)),
  }
}

function offerOf(composition: Composition, evaluator: Evaluator, proposal: Proposal): ActionOffer {
  const action: AnyResolutionAction | undefined = composition.actions.get(proposal.actionType)
  if (action === undefined || !evaluator.proposes.includes(proposal.actionType))
    throw new Error(`The evaluator "${evaluator.code}" proposed "${proposal.actionType}" without declaring it.`)
  return {
    actionType: action.actionType,
    label: action.label,
    effect: action.effect,
    destructive: action.destructive,
    recommended: proposal.recommended ?? false,
    payloadSchema: payloadSchemaOf(action),
    defaultPayload: null,
  }
}

function failedIssue(composition: Composition, evaluator: Evaluator, outcome: 'FAILED' | 'TIMED_OUT'): BareIssue {
  const how = outcome === 'FAILED' ? 'failed' : 'did not finish in time'
  return issueOf(composition, evaluator, {
    code: 'evaluator.failed' satisfies keyof typeof PIPELINE_CODES,
    entityId: evaluator.code,
    entityLabel: evaluator.code,
    changes: [],
    references: [],
    affectedCount: null,
    message: `The check "${evaluator.code}" ${how}, so the draft cannot be called safe. Evaluate it again; if it stays, tell your operator.`,
    proposals: [],
  })
}
