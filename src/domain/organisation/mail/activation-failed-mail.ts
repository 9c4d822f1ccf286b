import { z } from 'zod'
import type { Tx } from '../../../database/index.ts'
import { defineMailKind, type PlannedMail, planMail } from '../../mail/index.ts'
import { idleDraft } from './idle-draft.ts'
import { draftName, type Language, languageOf } from './language.ts'

/** Says that a draft was not activated at the moment it was planned for. Not sent when it is no draft any more. */
export const activationFailedMail = defineMailKind({
  kind: 'orgmodel.activation_failed',
  facts: z.object({
    scheduledFor: z.iso.datetime(),
    /** Why: `orgmodel.activation.blocking_issues`. */
    code: z
      .string()
      .regex(/^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$/)
      .max(100),
  }),
  async compose(tx, { about, locale, facts, correlationId }) {
    const draft = await idleDraft(tx, about)
    if (draft?.status !== 'DRAFT') return { notApplicable: 'orgmodel.activation_failed.draft_closed' }
    const language = languageOf(locale)
    const moment = new Intl.DateTimeFormat(TAGS[language], {
      dateStyle: 'long',
      timeStyle: 'short',
      timeZone: 'UTC',
    }).format(new Date(facts.scheduledFor))
    return TEXTS[language]({
      draft: draftName(draft, language),
      moment: `${moment} UTC`,
      code: facts.code,
      correlationId,
    })
  },
})

export interface ActivationFailure {
  readonly versionId: string
  /** Subject of the one who planned the activation. */
  readonly recipient: string
  readonly scheduledFor: Date
  /** Stable and dotted. */
  readonly code: string
  readonly locale?: string
  readonly correlationId: string
}

/**
 * Plans the mail about a scheduled activation that did not take place: once per draft, moment and recipient. Call it in
 * the transaction that gives the activation up, so that the two never disagree.
 */
export function planActivationFailedMail(tx: Tx, failure: ActivationFailure): Promise<PlannedMail> {
  const { versionId, recipient, code, correlationId, locale } = failure
  const scheduledFor = failure.scheduledFor.toISOString()
  return planMail(tx, activationFailedMail, {
    about: versionId,
    recipient,
    key: `${versionId} ${scheduledFor} ${recipient}`,
    facts: { scheduledFor, code },
    correlationId,
    ...(locale === undefined ? {} : { locale }),
  })
}

const TAGS: Readonly<Record<Language, string>> = { en: 'en-GB', nl: 'nl-NL' }

interface Told {
  readonly draft: string
  readonly moment: string
  readonly code: string
  readonly correlationId: string
}

const TEXTS: Readonly<Record<Language, (told: Told) => { subject: string; text: string }>> = {
  en: ({ draft, moment, code, correlationId }) => ({
    subject: `${draft} was not activated`,
    text:
      `${draft} of the organisation model was to be activated on ${moment}. That did not happen, and nothing has ` +
      `changed: the draft is still open.\n\nOpen it to see what stands in the way, and activate it or plan it anew.\n\n` +
      `Reason: ${code}\nReference: ${correlationId}\n`,
  }),
  nl: ({ draft, moment, code, correlationId }) => ({
    subject: `${draft} is niet geactiveerd`,
    text:
      `${draft} van het organisatiemodel zou op ${moment} geactiveerd worden. Dat is niet gebeurd, en er is niets ` +
      `veranderd: het concept staat nog open.\n\nOpen het om te zien wat er in de weg staat, en activeer het of plan ` +
      `het opnieuw.\n\nReden: ${code}\nKenmerk: ${correlationId}\n`,
  }),
}
