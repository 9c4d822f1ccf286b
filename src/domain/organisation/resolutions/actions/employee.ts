import type { Holding, ImpactContext } from '../../impact/context.ts'
import type { BareIssue } from '../../impact/pipeline.ts'

/** The attribute or value that leaves and that people hold. */
export interface Leaving {
  readonly attributeId: string
  /** Null when the attribute as a whole leaves. */
  readonly valueId: string | null
  readonly label: string
  readonly holdings: readonly Holding[]
}

export function leavingOf(issue: BareIssue, context: ImpactContext): Leaving | null {
  const id = issue.entityId
  if (id === null) return null
  const attribute = context.active.attributes.get(id)
  if (attribute !== undefined)
    return {
      attributeId: id,
      valueId: null,
      label: attribute.label,
      holdings: context.holdings.filter(({ attributeId }) => attributeId === id),
    }
  const value = context.active.values.get(id)
  if (value === undefined) return null
  return {
    attributeId: value.attributeId,
    valueId: id,
    label: value.label,
    holdings: context.holdings.filter(({ valueId }) => valueId === id),
  }
}
