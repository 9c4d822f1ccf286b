import { canonicalJson, sha256 } from '../model/canonical.ts'
import type { Finding, IssueBasis, StaleReason } from './issue.ts'

/** @param evaluator `code@version` */
export function basisOf(evaluator: string, finding: Pick<Finding, 'changes' | 'references'>): IssueBasis {
  return {
    evaluator,
    changes: [...new Set(finding.changes.map((change) => change.id))].toSorted(),
    references: [
      ...new Set(
        finding.references.map(({ path, attributeId, valueId }) => `${path} → ${attributeId}/${valueId ?? ''}`),
      ),
    ].toSorted(),
  }
}

/** Same key and same fingerprint: the same problem, so a completed resolution still counts (C11). */
export const fingerprintOf = (key: string, { evaluator, changes, references }: IssueBasis): string =>
  sha256(canonicalJson({ key, evaluator, changes, references }))

/** Which part of the problem is another one now; null when none is. */
export function whatChanged(before: IssueBasis, now: IssueBasis): StaleReason | null {
  if (canonicalJson(before.changes) !== canonicalJson(now.changes)) return 'CHANGES'
  if (canonicalJson(before.references) !== canonicalJson(now.references)) return 'REFERENCES'
  return before.evaluator === now.evaluator ? null : 'EVALUATOR'
}
