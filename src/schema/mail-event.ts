import { mailLifecycle, type MailStatus } from '../domain/mail/index.ts'
import { lifecycleEnum } from './lifecycle-enum.ts'
import { DomainEvent, streamType, type EventItem } from './stream.ts'

const MailStatusEnum = lifecycleEnum('MailStatus', 'What has become of a mail.', mailLifecycle)

export const MailChanged = streamType<EventItem>('MailChanged', {
  description: 'A mail was planned, sent, put off or given up. To whom and what it says is never told.',
  interfaces: [DomainEvent],
  fields: (t) => ({
    kind: t.string({
      nullable: true,
      description: 'What it is for, dotted: `orgmodel.draft_reminder`.',
      resolve: ({ event }) => (event.data['kind'] as string | undefined) ?? null,
    }),
    status: t.field({
      type: MailStatusEnum,
      description: 'The status it has since.',
      resolve: ({ event }) => event.to as MailStatus,
    }),
    previousStatus: t.field({
      type: MailStatusEnum,
      nullable: true,
      description: 'The status it had; null when it is new.',
      resolve: ({ event }) => event.from as MailStatus | null,
    }),
  }),
})
