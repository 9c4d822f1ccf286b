import { z } from 'zod'
import type { ModelSnapshot } from '../../model/model.ts'
import { idSchema, invalidReference, type PayloadProblem } from '../action.ts'

/** `from` a value that leaves the model `to` one or more that stay. */
export const valueMappingSchema = z
  .array(z.strictObject({ from: idSchema, to: z.array(idSchema).min(1).max(100) }))
  .max(1_000)
  .describe('Which values of the draft take the place of each value that leaves.')

export type ValueMappings = z.output<typeof valueMappingSchema>

/** What a value becomes: its mapped values, or itself. */
export const mappedValues = (mapping: ValueMappings, values: readonly string[]): string[] => [
  ...new Set(values.flatMap((value) => mapping.find(({ from }) => from === value)?.to ?? [value])),
]

/** Targets that the draft's attribute does not have. */
export const unknownTargets = (
  mapping: ValueMappings,
  attributeId: string,
  draft: ModelSnapshot,
  field: string,
): PayloadProblem[] =>
  mapping.flatMap(({ to }, index) =>
    to.flatMap((value, place) =>
      draft.values.get(value)?.attributeId === attributeId
        ? []
        : [invalidReference([field, index, 'to', place], 'This is not a value of that attribute in the draft.')],
    ),
  )

/**
 * The mapping that keys suggest: the value of the new attribute with the same key, else with the same label.
 * Null when one of them has no such counterpart.
 */
export function mappingByName(
  values: readonly string[],
  toAttributeId: string,
  active: ModelSnapshot,
  draft: ModelSnapshot,
): ValueMappings | null {
  const candidates = draft.attributes.get(toAttributeId)?.values ?? []
  const mapping: ValueMappings = []
  for (const from of new Set(values)) {
    const value = active.values.get(from)
    const to =
      candidates.find(({ key }) => key === value?.key) ?? candidates.find(({ label }) => label === value?.label)
    if (to === undefined) return null
    mapping.push({ from, to: [to.id] })
  }
  return mapping
}
