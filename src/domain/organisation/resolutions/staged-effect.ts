import type { Tx } from '../../../database/index.ts'
import type { Act } from '../../../transitions/index.ts'
import type { ImpactContext } from '../impact/context.ts'
import type { ModelSnapshot } from '../model/model.ts'

/** A change that an action leaves behind for the activation. */
export interface NewStagedEffect {
  readonly targetKind: string
  readonly targetId: string
  /** What must still hold when it is applied. */
  readonly precondition: Readonly<Record<string, unknown>>
  readonly forward: Readonly<Record<string, unknown>>
  /** One calm sentence for people. */
  readonly summary: string
}

export interface StagedEffect extends NewStagedEffect {
  readonly id: string
  readonly resolutionId: string
  readonly submissionNo: number
  readonly seq: number
}

/** An attribute or value of the draft that an effect points to: if it goes, the effect is void (C35). */
export interface EffectReference {
  /** JSON pointer into the effect. */
  readonly path: string
  readonly attributeId: string
  readonly valueId: string | null
}

/** What is applied, and how to undo exactly that. */
export type AppliedEffect =
  | { readonly kind: 'APPLIED'; readonly effectId: string; readonly inverse: Readonly<Record<string, unknown>> }
  | { readonly kind: 'CONFLICT'; readonly effectId: string; readonly reason: string }

export interface ApplyRequest {
  readonly versionId: string
  /** The model that becomes active in this transaction. */
  readonly model: ModelSnapshot
  readonly act: Act
}

/** A kind of thing that staged effects change: how it looks with them, and how they are written. */
export interface EffectTarget {
  /** `target_kind` of its effects. */
  readonly kind: string
  /** Takes the locks of the targets in ascending id order, before the activation takes the clock. */
  lock(tx: Tx, targetIds: readonly string[]): Promise<void>
  /** The context as it will be. An effect that no longer fits leaves its target as it is. */
  project(context: ImpactContext, effects: readonly StagedEffect[]): ImpactContext
  /** In the given order. Answers for every effect; a conflict ends the activation (C40). */
  apply(tx: Tx, effects: readonly StagedEffect[], request: ApplyRequest): Promise<readonly AppliedEffect[]>
  /** What of the draft it points to: all that must still be there when it is applied. */
  references(effect: NewStagedEffect): readonly EffectReference[]
}
