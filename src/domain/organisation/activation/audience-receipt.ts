import type { Tx } from '../../../database/index.ts'
import type { ModelSnapshot } from '../model/model.ts'
import { audienceCount } from '../personas/audience.ts'
import type { Persona } from '../personas/persona.ts'

/** How many people a persona had before and after an activation; null: it did not exist, or was invalid. */
export interface AudienceReceipt {
  readonly personaId: string
  readonly name: string
  readonly before: number | null
  readonly after: number | null
}

/** The size of every audience under the model. */
export async function audiences(
  tx: Tx,
  personas: readonly Persona[],
  model: ModelSnapshot,
): Promise<ReadonlyMap<Persona, number | null>> {
  const counts = new Map<Persona, number | null>()
  for (const persona of personas)
    counts.set(persona, persona.validity === 'VALID' ? await audienceCount(tx, persona, model) : null)
  return counts
}

/** Before and after side by side, by name. */
export function receipt(
  before: ReadonlyMap<Persona, number | null>,
  after: ReadonlyMap<Persona, number | null>,
): AudienceReceipt[] {
  const rows = new Map<string, AudienceReceipt>()
  for (const [{ id, name }, count] of before) rows.set(id, { personaId: id, name, before: count, after: null })
  for (const [{ id, name }, count] of after)
    rows.set(id, { personaId: id, name, before: rows.get(id)?.before ?? null, after: count })
  return [...rows.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
}
