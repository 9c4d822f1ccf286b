import type { ImpactContext } from '../impact/context.ts'
import { holdingsTarget } from './holdings-target.ts'
import { personaTarget } from './persona-target.ts'
import type { EffectTarget, StagedEffect } from './staged-effect.ts'

/** Every kind of thing that staged effects change. */
export const EFFECT_TARGETS: readonly EffectTarget[] = [personaTarget, holdingsTarget]

export function targetOf(kind: string): EffectTarget {
  const target = EFFECT_TARGETS.find((known) => known.kind === kind)
  if (target === undefined) throw new Error(`Staged effects on "${kind}" are not known here.`)
  return target
}

/** Live downstream plus staged effects: what the evaluators judge. */
export function project(context: ImpactContext, effects: readonly StagedEffect[]): ImpactContext {
  return EFFECT_TARGETS.reduce(
    (projected, target) =>
      target.project(
        projected,
        effects.filter((effect) => effect.targetKind === target.kind),
      ),
    context,
  )
}
