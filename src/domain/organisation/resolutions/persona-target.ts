import { statement } from '../../../database/index.ts'
import { conditionsOf, mapConditions, pointer, type Condition, type ConditionTree } from '../../conditions/index.ts'
import { canonicalJson } from '../model/canonical.ts'
import type { Persona } from '../personas/persona.ts'
import { lockPersona, writePersona } from '../personas/write.ts'
import type { AppliedEffect, EffectReference, EffectTarget, NewStagedEffect } from './staged-effect.ts'

export const PERSONA = 'PERSONA'

/** A condition and what takes its place; null takes it away. */
export interface Replacement {
  readonly from: Condition
  readonly to: Condition | null
}

/** What a staged effect does to a persona. */
export type PersonaChange =
  | { readonly kind: 'REPLACE_CONDITIONS'; readonly replacements: readonly Replacement[] }
  | { readonly kind: 'ARCHIVE'; readonly reason: string }

/** An effect that replaces conditions of a persona. Its precondition: each of them still stands in the filter. */
export function replaceConditions(
  persona: Persona,
  replacements: readonly Replacement[],
  summary: string,
): NewStagedEffect {
  const change: PersonaChange = { kind: 'REPLACE_CONDITIONS', replacements }
  return {
    targetKind: PERSONA,
    targetId: persona.id,
    precondition: { conditions: replacements.map(({ from }) => from) },
    forward: { ...change },
    summary,
  }
}

export function archivePersona(persona: Persona, reason: string, summary: string): NewStagedEffect {
  const change: PersonaChange = { kind: 'ARCHIVE', reason }
  return { targetKind: PERSONA, targetId: persona.id, precondition: {}, forward: { ...change }, summary }
}

/** The filter afterwards; null when a condition to be replaced is no longer there, or nothing would be left. */
export function replaceIn(filter: ConditionTree, replacements: readonly Replacement[]): ConditionTree | null {
  // By content, not by place: who adds, moves or edits another condition in the meantime is in nobody's way.
  const pending = new Map(replacements.map((replacement) => [canonicalJson(replacement.from), replacement]))
  const standing = new Set(conditionsOf(filter).map(({ condition }) => canonicalJson(condition)))
  if ([...pending.keys()].some((from) => !standing.has(from))) return null
  return mapConditions(filter, (condition) => {
    const replacement = pending.get(canonicalJson(condition))
    return replacement === undefined ? condition : replacement.to
  })
}

const changeOf = (effect: NewStagedEffect): PersonaChange => effect.forward as unknown as PersonaChange

/** The persona with one effect; null when the effect no longer fits. */
function changed(persona: Persona, effect: NewStagedEffect): { filter: ConditionTree; archived: boolean } | null {
  const change = changeOf(effect)
  if (change.kind === 'ARCHIVE') return { filter: persona.filter, archived: true }
  const filter = replaceIn(persona.filter, change.replacements)
  return filter === null ? null : { filter, archived: false }
}

const LOCK = statement<unknown>(
  'organisation.lock_personas',
  `select 1 from persona where tenant_id = $1::uuid and id in (select value::uuid from jsonb_array_elements_text($2::jsonb))
   order by id for update`,
)

export const personaTarget: EffectTarget = {
  kind: PERSONA,

  async lock(tx, targetIds) {
    await tx.query(LOCK, [JSON.stringify(targetIds)])
  },

  project(context, effects) {
    if (effects.length === 0) return context
    const personas = context.personas.flatMap((persona) => {
      let current: Persona | null = persona
      for (const effect of effects) {
        if (effect.targetId !== persona.id || current === null) continue
        const after: ReturnType<typeof changed> = changed(current, effect)
        if (after !== null) current = after.archived ? null : { ...current, filter: after.filter }
      }
      return current === null ? [] : [current]
    })
    return { ...context, personas }
  },

  async apply(tx, effects, { model, act }) {
    const applied: AppliedEffect[] = []
    for (const effect of effects) {
      const persona = await lockPersona(tx, effect.targetId)
      const after = persona === null || persona.archivedAt !== null ? null : changed(persona, effect)
      if (persona === null || after === null) {
        const reason = persona === null ? 'The persona is gone.' : 'The persona was edited where it is to be changed.'
        applied.push({ kind: 'CONFLICT', effectId: effect.id, reason })
        continue
      }
      await writePersona(tx, {
        persona,
        changes: after.archived ? { archive: true } : { filter: after.filter },
        model,
        type: after.archived ? 'persona.archived' : 'persona.updated',
        act,
        reason: 'orgmodel.version.activated',
      })
      applied.push({
        kind: 'APPLIED',
        effectId: effect.id,
        inverse: { kind: 'RESTORE_PERSONA', filter: persona.filter, unarchive: after.archived, requires: after.filter },
      })
    }
    return applied
  },

  references(effect): readonly EffectReference[] {
    const change = changeOf(effect)
    if (change.kind === 'ARCHIVE') return []
    return change.replacements.flatMap(({ to }, index) => {
      if (to === null) return []
      const path = pointer('', 'replacements', index, 'to')
      const values = 'values' in to ? to.values : []
      return [
        { path: pointer(path, 'field'), attributeId: to.field, valueId: null },
        ...values.map((valueId, place) => ({
          path: pointer(path, 'values', place),
          attributeId: to.field,
          valueId,
        })),
      ]
    })
  },
}
