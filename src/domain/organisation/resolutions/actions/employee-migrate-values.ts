import { z } from 'zod'
import { defineAction, idSchema, invalid, invalidReference, type PayloadProblem } from '../action.ts'
import { changeHoldings } from '../holdings-target.ts'
import { leavingOf } from './employee.ts'
import { mappingByName } from './value-mapping.ts'

/** Gives the people who hold what leaves something else instead. */
export const employeeMigrateValues = defineAction({
  actionType: 'employee.migrate_values',
  label: 'Give these people other values',
  effect: 'STAGED',
  destructive: false,
  exclusive: false,
  requiresAffectedEntity: true,
  shape: {
    mapping: z
      .array(z.strictObject({ from: idSchema, to: idSchema.nullable() }))
      .min(1)
      .max(1_000)
      .describe('Which value of the draft each value becomes; null: none.'),
    unmapped: z
      .enum(['block', 'clear'])
      .describe('What becomes of values that are not named: keep the draft from being activated, or clear them.'),
  },

  suggest(issue, { context }) {
    const leaving = leavingOf(issue, context)
    if (leaving === null || leaving.holdings.some(({ valueId }) => valueId === null)) return null
    const successors = [...context.draft.attributes.values()].filter(
      ({ replacesAttributeId }) => replacesAttributeId === leaving.attributeId,
    )
    const to = leaving.valueId === null ? successors[0]?.id : leaving.attributeId
    if (to === undefined || successors.length > 1) return null
    const values = leaving.holdings.flatMap(({ valueId }) => valueId ?? [])
    const mapping = mappingByName(values, to, context.active, context.draft)
    if (mapping === null || mapping.length === 0) return null
    return { mapping: mapping.map((entry) => ({ from: entry.from, to: entry.to[0]! })), unmapped: 'block' as const }
  },

  check(payload, issue, context) {
    const leaving = leavingOf(issue, context)
    if (leaving === null) return [invalid([], 'Nobody holds this any more.')]
    const problems: PayloadProblem[] = payload.mapping.flatMap(({ from, to }, index) => {
      if (context.active.values.get(from)?.attributeId !== leaving.attributeId)
        return [invalidReference(['mapping', index, 'from'], 'This value is not of the attribute in question.')]
      if (to !== null && !context.draft.values.has(to))
        return [invalidReference(['mapping', index, 'to'], 'The draft has no such value.')]
      return []
    })
    if (payload.unmapped === 'block') {
      const uncovered = leaving.holdings.filter(
        ({ valueId }) => valueId === null || payload.mapping.every(({ from }) => from !== valueId),
      )
      if (uncovered.length > 0) {
        const labels = uncovered.map(({ valueId }) =>
          valueId === null ? 'texts and numbers' : (context.active.values.get(valueId)?.label ?? valueId),
        )
        problems.push(invalid(['mapping'], `Uncovered references: say what becomes of ${labels.join(', ')}.`))
      }
    }
    return problems
  },

  async execute(payload, { issue, context }) {
    const { attributeId, valueId, label, holdings } = leavingOf(issue, context)!
    const summary = `People who hold "${label}" get other values.`
    const mapping = payload.mapping.map(({ from, to }) => ({
      from,
      to,
      attributeId: to === null ? null : context.draft.values.get(to)!.attributeId,
    }))
    const change = { kind: 'MIGRATE', attributeId, valueId, mapping, unmapped: payload.unmapped } as const
    return { kind: 'DONE', affected: holdings.length, effects: [changeHoldings(change, summary)] }
  },
})
