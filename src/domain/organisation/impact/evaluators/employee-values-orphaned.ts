import type { ImpactContext } from '../context.ts'
import type { Evaluator } from '../evaluator.ts'
import type { Finding } from '../issue.ts'

const CODE = 'employee.values_orphaned'

/** E9: people who hold something that leaves the model. */
export const employeeValuesOrphaned: Evaluator = {
  code: 'employee_values',
  version: 1,
  codes: {
    [CODE]: {
      severity: 'BLOCKING',
      entity: 'ATTRIBUTE_OR_VALUE',
      description: 'People hold values of an attribute, or a value, that the draft removes.',
    },
  },
  proposes: ['employee.migrate_values', 'employee.archive_values', 'employee.clear_values'],

  evaluate(context) {
    return context.changes.flatMap((change) => {
      if (change.kind === 'ATTRIBUTE_REMOVED' || change.kind === 'ATTRIBUTE_REPLACED')
        return orphaned(context, change, change.attributeId)
      if (
        change.kind === 'VALUE_REMOVED' &&
        change.valueId !== null &&
        context.draft.attributes.has(change.attributeId)
      )
        return orphaned(context, change, change.valueId)
      return []
    })
  },
}

function orphaned(context: ImpactContext, change: ImpactContext['changes'][number], id: string): Finding[] {
  const holdings = context.holdings.filter(({ attributeId, valueId }) => attributeId === id || valueId === id)
  if (holdings.length === 0) return []
  const people = context.holders.get(id) ?? 0
  const migratable = holdings.every(({ valueId }) => valueId !== null)
  const replaced = change.kind === 'ATTRIBUTE_REPLACED'
  return [
    {
      code: CODE,
      entityId: id,
      entityLabel: change.label,
      changes: [change],
      references: holdings.map(({ attributeId, valueId }) => ({
        path: valueId === null ? '/people' : `/people/${valueId}`,
        attributeId,
        valueId,
        negated: false,
        excerpt: valueId === null ? change.label : (context.active.values.get(valueId)?.label ?? valueId),
      })),
      affectedCount: people,
      message: `${people} people hold "${change.label}", which this draft removes.`,
      proposals: [
        ...(migratable ? [{ actionType: 'employee.migrate_values', recommended: replaced }] : []),
        { actionType: 'employee.archive_values', recommended: !replaced },
        { actionType: 'employee.clear_values' },
      ],
    },
  ]
}
