import { composeMail, mailRetention, mailRetentionDaily, smtpTransport } from '../domain/mail/index.ts'
import { draftReminder, ORGANISATION_MAIL, organisationUpkeep } from '../domain/organisation/index.ts'
import type { AnyJobDefinition, Schedule } from '../jobs/index.ts'
import { drafts } from './composition.ts'
import { readDomainSettings } from './configuration.ts'

// Worker threads import this module in its compiled form. They have the environment of their process and nothing else
// of it, so the settings are read here, once per thread.
const { mail, mailLocale, draftReminderDays } = readDomainSettings(process.env)

/** Opens no connection before the first mail. */
const outgoing = mail === null ? null : { sender: mail.sender, transport: smtpTransport(mail.server) }
const reminder = draftReminder({ days: draftReminderDays, locale: mailLocale })

/** Every job type of this version. */
export const jobDefinitions: readonly AnyJobDefinition[] = [
  drafts.resolutionJob,
  composeMail({ kinds: ORGANISATION_MAIL, outgoing }),
  mailRetention,
  reminder.job,
  ...organisationUpkeep.jobs,
]

/** What recurs. */
export const jobSchedules: readonly Schedule[] = [
  mailRetentionDaily,
  ...reminder.schedules,
  ...organisationUpkeep.schedules,
]

/** Called when the thread has stopped its engine: an idle connection would keep it from ending. */
export const release = (): void => outgoing?.transport.close()
