import { canonicalId } from '../ids.ts'
import type { NetChange } from '../model/net-change.ts'

/** Fixed per code. BLOCKING keeps the draft from being activated until it is resolved. */
export type Severity = 'BLOCKING' | 'WARNING' | 'INFO'

/** What kind of thing the entity id of an issue names; null for an issue of the draft as a whole (C01). */
export type EntityKind = 'PERSONA' | 'ATTRIBUTE' | 'VALUE' | 'ATTRIBUTE_OR_VALUE' | 'EVALUATOR' | 'RESOLUTION'

/** One code of the closed list that an evaluator may report. */
export interface IssueCode {
  readonly severity: Severity
  readonly entity: EntityKind | null
  readonly description: string
}

/** One place that would break: where it is and what it points to. */
export interface IssueReference {
  /** JSON pointer into the holder. */
  readonly path: string
  readonly attributeId: string
  /** Null when the attribute itself is meant. */
  readonly valueId: string | null
  readonly negated: boolean
  /** The place in words: `Department is one of Sales, Support`. */
  readonly excerpt: string
}

/** What an evaluator proposes for a finding; the action's own declaration supplies the rest of the offer. */
export interface Proposal {
  readonly actionType: string
  readonly recommended?: boolean
}

/** What one evaluator found about one entity. */
export interface Finding {
  readonly code: string
  readonly entityId: string | null
  readonly entityLabel: string | null
  readonly changes: readonly NetChange[]
  readonly references: readonly IssueReference[]
  /** People touched; null when that is not the point. */
  readonly affectedCount: number | null
  readonly message: string
  readonly proposals: readonly Proposal[]
}

/** An action as it is offered for one issue: enough to draw its form without knowing the action. */
export interface ActionOffer {
  readonly actionType: string
  readonly label: string
  readonly effect: 'IMMEDIATE' | 'STAGED' | 'ACKNOWLEDGE'
  readonly destructive: boolean
  readonly recommended: boolean
  /** JSON Schema, draft 2020-12. */
  readonly payloadSchema: Readonly<Record<string, unknown>>
  /** A payload that would resolve the issue; null when only a person can know it. */
  readonly defaultPayload: Readonly<Record<string, unknown>> | null
}

/**
 * What the evaluation knows of an issue's repair. RESOLVED: gone once the staged effects are applied, or
 * acknowledged. STALE: a completed resolution was for another problem under the same key. INEFFECTIVE: it was
 * for this very problem and the problem is still there.
 */
export type IssueState = 'OPEN' | 'RESOLVED' | 'STALE' | 'INEFFECTIVE'

export type StaleReason = 'CHANGES' | 'REFERENCES' | 'EVALUATOR'

/** Exactly one per key and evaluation (C10). */
export interface Issue {
  readonly key: string
  readonly code: string
  readonly severity: Severity
  readonly entityKind: EntityKind | null
  readonly entityId: string | null
  readonly entityLabel: string | null
  readonly fingerprint: string
  readonly basis: IssueBasis
  readonly message: string
  readonly changes: readonly NetChange[]
  readonly references: readonly IssueReference[]
  readonly affectedCount: number | null
  readonly availableActions: readonly ActionOffer[]
  readonly state: IssueState
  readonly resolutionId: string | null
  readonly staleReason: StaleReason | null
}

/** What the fingerprint covers (C11): never a label, never a row version. */
export interface IssueBasis {
  /** `code@version` of the evaluator. */
  readonly evaluator: string
  /** Ids of the changes, sorted. */
  readonly changes: readonly string[]
  /** `path → attribute/value`, sorted. */
  readonly references: readonly string[]
}

const CODE = /^[a-z0-9_]+(\.[a-z0-9_]+)+$/

export const isIssueCode = (text: string): boolean => text.length <= 200 && CODE.test(text)

/** The one text form of an issue's identity. Injective: a code holds no colon, an entity id is never empty (C06, C07). */
export const issueKey = (code: string, entityId: string | null): string => `${code}:${entityId ?? ''}`

/** UUIDs have one spelling, wherever they come from (C08); other ids, such as an evaluator's code, stay as they are. */
export const canonicalEntityId = (id: string): string => canonicalId(id) ?? id
