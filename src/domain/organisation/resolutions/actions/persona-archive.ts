import { z } from 'zod'
import { defineAction } from '../action.ts'
import { archivePersona } from '../persona-target.ts'
import { personaOf } from './persona.ts'

/** Retires the persona with the activation. */
export const personaArchive = defineAction({
  actionType: 'persona.archive',
  label: 'Archive the persona',
  effect: 'STAGED',
  destructive: true,
  exclusive: true,
  requiresAffectedEntity: true,
  shape: { reason: z.string().trim().min(1).max(500).describe('Why it is no longer needed.') },
  suggest: (issue) => ({ reason: issue.message.slice(0, 500) }),
  check: () => [],

  async execute(payload, { issue, context }) {
    const persona = personaOf(issue, context)!
    const summary = `The persona "${persona.name}" is archived.`
    return { kind: 'DONE', affected: 1, effects: [archivePersona(persona, payload.reason, summary)] }
  },
})
