import { z } from 'zod'
import { problemsOf, type Condition } from '../../../conditions/index.ts'
import type { ImpactContext } from '../../impact/context.ts'
import type { BareIssue } from '../../impact/pipeline.ts'
import { fieldsOf } from '../../model/model.ts'
import { defineAction, idSchema, invalid, invalidReference, type PayloadProblem } from '../action.ts'
import { replaceConditions, type Replacement } from '../persona-target.ts'
import { brokenConditions, personaOf, valuesOf } from './persona.ts'
import { mappedValues, mappingByName, unknownTargets, valueMappingSchema, type ValueMappings } from './value-mapping.ts'

interface Payload {
  readonly newAttributeId: string
  readonly valueMapping?: ValueMappings | undefined
}

function replacementsFor(payload: Payload, issue: BareIssue, context: ImpactContext): Replacement[] {
  const persona = personaOf(issue, context)
  if (persona === undefined) return []
  return brokenConditions(issue, persona).map(({ condition }) => {
    const moved = { ...condition, field: payload.newAttributeId }
    return {
      from: condition,
      to: 'values' in moved ? { ...moved, values: mappedValues(payload.valueMapping ?? [], moved.values) } : moved,
    }
  })
}

/** Points every condition on an attribute that leaves to another attribute, its values mapped one by one. */
export const personaUpdateFilterValue = defineAction({
  actionType: 'persona.update_filter_value',
  label: 'Use another attribute in the filter',
  effect: 'STAGED',
  destructive: false,
  exclusive: false,
  requiresAffectedEntity: true,
  shape: {
    newAttributeId: idSchema.describe('The attribute of the draft that the filter is to use instead.'),
    newAttributeName: z.string().max(200).optional().describe('For the reader only; the id decides.'),
    valueMapping: valueMappingSchema.optional(),
  },

  suggest(issue, { context }) {
    const persona = personaOf(issue, context)
    if (persona === undefined) return null
    const broken = brokenConditions(issue, persona)
    const leaving = new Set(broken.map(({ condition }) => condition.field))
    const successors = [...context.draft.attributes.values()].filter(
      ({ replacesAttributeId }) => replacesAttributeId !== null && leaving.has(replacesAttributeId),
    )
    const [successor] = successors
    if (successor === undefined || successors.length > 1 || leaving.size > 1) return null
    const values = broken.flatMap(({ condition }) => valuesOf(condition))
    const valueMapping = mappingByName(values, successor.id, context.active, context.draft)
    return valueMapping === null ? null : { newAttributeId: successor.id, valueMapping }
  },

  check(payload, issue, context) {
    const persona = personaOf(issue, context)
    const attribute = context.draft.attributes.get(payload.newAttributeId)
    if (persona === undefined || attribute === undefined)
      return [invalidReference(['newAttributeId'], 'The draft has no such attribute.')]
    const mapping = payload.valueMapping ?? []
    const needed = new Set(brokenConditions(issue, persona).flatMap(({ condition }) => valuesOf(condition)))
    const uncovered = [...needed].filter((value) => mapping.every(({ from }) => from !== value))
    const problems: PayloadProblem[] = unknownTargets(mapping, attribute.id, context.draft, 'valueMapping')
    if (uncovered.length > 0) {
      const labels = uncovered.map((id) => context.active.values.get(id)?.label ?? id).join(', ')
      problems.push(invalid(['valueMapping'], `Uncovered references: say what becomes of ${labels}.`))
    }
    if (problems.length > 0) return problems
    const fields = fieldsOf(context.draft)
    const unfit = replacementsFor(payload, issue, context).flatMap(({ to }) => problemsOf(to as Condition, fields))
    return unfit.length === 0
      ? []
      : [invalidReference(['newAttributeId'], `The filter cannot use this attribute: ${unfit[0]!.message}`)]
  },

  async execute(payload, { issue, context }) {
    const persona = personaOf(issue, context)!
    const replacements = replacementsFor(payload, issue, context)
    const attribute = context.draft.attributes.get(payload.newAttributeId)!
    const summary = `The filter of "${persona.name}" uses "${attribute.label}" instead.`
    return { kind: 'DONE', affected: replacements.length, effects: [replaceConditions(persona, replacements, summary)] }
  },
})
