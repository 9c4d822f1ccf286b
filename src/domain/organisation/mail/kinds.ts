import type { AnyMailKind } from '../../mail/index.ts'
import { activationFailedMail } from './activation-failed-mail.ts'
import { draftReminderMail } from './draft-reminder-mail.ts'

/** What the organisation has to say to people by mail. */
export const ORGANISATION_MAIL: readonly AnyMailKind[] = [draftReminderMail, activationFailedMail]
