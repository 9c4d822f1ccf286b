import type { ModelSnapshot } from '../model/model.ts'
import type { NetChange } from '../model/net-change.ts'
import type { Persona } from '../personas/persona.ts'
import type { StagedEffect } from '../resolutions/staged-effect.ts'
import { issueKey } from './issue.ts'

/** How many people hold a value of a thing that leaves the model. */
export interface Holding {
  readonly attributeId: string
  /** Null: a text, number, date or yes/no of the attribute. */
  readonly valueId: string | null
  readonly people: number
}

/** Everything an evaluator may look at. Plain data, complete before the first evaluator starts. */
export interface ImpactContext {
  readonly draftVersionId: string
  readonly baseVersionId: string | null
  readonly activeVersionId: string
  readonly active: ModelSnapshot
  readonly draft: ModelSnapshot
  /** Net changes from the active model to the draft. */
  readonly changes: readonly NetChange[]
  /** Personas that are not archived, as they would be once the staged effects below are applied. */
  readonly personas: readonly Persona[]
  /** Of removed attributes and values, less what the staged effects take away. */
  readonly holdings: readonly Holding[]
  /** People who hold anything of an attribute, or a value, by its id; each counted once. */
  readonly holders: ReadonlyMap<string, number>
  /** Effects of completed resolutions that are in force. Empty in the first of the two runs (see evaluate.ts). */
  readonly stagedEffects: readonly StagedEffect[]
  /** `code:entity` of the completed resolutions in force: the seed's contract. Empty in the first run too. */
  readonly completedResolutionKeys: ReadonlySet<string>
  isResolved(code: string, entityId?: string | null): boolean
}

/** Exact membership only: `code:` is no wildcard for `code:entity`, nor the reverse (C09). */
export const resolvedBy =
  (keys: ReadonlySet<string>): ImpactContext['isResolved'] =>
  (code, entityId = null) =>
    keys.has(issueKey(code, entityId))
