import { z } from 'zod'
import { defineAction } from '../action.ts'
import { changeHoldings } from '../holdings-target.ts'
import { leavingOf } from './employee.ts'

/** Keeps what people held for a while, out of the living data. */
export const employeeArchiveValues = defineAction({
  actionType: 'employee.archive_values',
  label: 'Archive what people hold',
  effect: 'STAGED',
  destructive: false,
  exclusive: false,
  requiresAffectedEntity: true,
  shape: { retentionDays: z.int().min(30).max(3_650).describe('For how many days it is kept.') },
  suggest: () => ({ retentionDays: 365 }),
  check: () => [],

  async execute({ retentionDays }, { issue, context }) {
    const leaving = leavingOf(issue, context)!
    const { attributeId, valueId, label } = leaving
    const summary = `What people hold of "${label}" is archived for ${retentionDays} days.`
    return {
      kind: 'DONE',
      affected: leaving.holdings.length,
      effects: [changeHoldings({ kind: 'ARCHIVE', attributeId, valueId, retentionDays }, summary)],
    }
  },
})
