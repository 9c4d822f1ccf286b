import { z } from 'zod'
import { defineMailKind } from '../../mail/index.ts'
import { idleDraft } from './idle-draft.ts'
import { draftName, type Language, languageOf } from './language.ts'

/** Says that a draft is still open. Not sent when it was edited or closed since the reminder was planned. */
export const draftReminderMail = defineMailKind({
  kind: 'orgmodel.draft_reminder',
  facts: z.object({
    /** What the draft was at when it was found idle. */
    contentRevision: z.int().min(0),
  }),
  async compose(tx, { about, locale, facts }) {
    const draft = await idleDraft(tx, about)
    if (draft?.status !== 'DRAFT') return { notApplicable: 'orgmodel.draft_reminder.draft_closed' }
    if (draft.contentRevision !== facts.contentRevision)
      return { notApplicable: 'orgmodel.draft_reminder.draft_edited' }
    const language = languageOf(locale)
    return TEXTS[language](draftName(draft, language), draft.idleDays)
  },
})

const TEXTS: Readonly<Record<Language, (draft: string, days: number) => { subject: string; text: string }>> = {
  en: (draft, days) => {
    const long = days === 1 ? '1 day' : `${days} days`
    return {
      subject: `${draft} has been waiting for ${long}`,
      text:
        `${draft} of the organisation model is still open, and nobody has edited it for ${long}.\n\n` +
        'As long as it is open nobody can begin another one. Go on with it, activate it, or discard it.\n',
    }
  },
  nl: (draft, days) => {
    const long = days === 1 ? '1 dag' : `${days} dagen`
    return {
      subject: `${draft} wacht al ${long}`,
      text:
        `${draft} van het organisatiemodel staat nog open, en is al ${long} niet bewerkt.\n\n` +
        'Zolang het openstaat kan niemand een ander concept beginnen. Werk eraan verder, activeer het of verwerp het.\n',
    }
  },
}
