import { z } from 'zod'
import { defineAction, invalid } from '../action.ts'
import { changeHoldings } from '../holdings-target.ts'
import { leavingOf } from './employee.ts'

/** Drops what people hold, for as many people as were confirmed and no others. */
export const employeeClearValues = defineAction({
  actionType: 'employee.clear_values',
  label: 'Clear what people hold',
  effect: 'STAGED',
  destructive: true,
  exclusive: false,
  requiresAffectedEntity: true,
  shape: {
    expectedCount: z.int().min(1).describe('How many people lose something.'),
    confirmation: z.string().max(400).describe('The label of the attribute or value, typed by whoever confirms.'),
  },

  check(payload, issue, context) {
    const leaving = leavingOf(issue, context)
    if (leaving === null) return [invalid([], 'Nobody holds this any more.')]
    if (payload.confirmation !== leaving.label)
      return [invalid(['confirmation'], `Type "${leaving.label}" to confirm.`)]
    if (payload.expectedCount !== issue.affectedCount)
      return [invalid(['expectedCount'], `It is ${issue.affectedCount} people who hold this now.`)]
    return []
  },

  async execute({ expectedCount }, { issue, context }) {
    const leaving = leavingOf(issue, context)!
    const { attributeId, valueId, label } = leaving
    const summary = `What ${expectedCount} people hold of "${label}" is cleared.`
    return {
      kind: 'DONE',
      affected: leaving.holdings.length,
      effects: [changeHoldings({ kind: 'CLEAR', attributeId, valueId, expectedCount }, summary)],
    }
  },
})
