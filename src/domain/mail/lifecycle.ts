import { defineLifecycle } from '../../transitions/index.ts'

export type MailStatus = 'PLANNED' | 'SENDING' | 'SENT' | 'FAILED' | 'CANCELLED'

/** The lifecycle of a mail. Its job says when it is tried; this says what became of the mail. */
export const mailLifecycle = defineLifecycle<MailStatus>({
  kind: 'mail',
  table: 'mail',
  noun: 'The mail',
  statuses: {
    PLANNED: { description: 'Waiting for its job: not tried yet, or between two attempts.' },
    SENDING: { description: 'Written, and on its way to the mail server.' },
    SENT: { description: 'The mail server has taken it over.', terminal: true },
    FAILED: { description: 'Given up: refused for good, or all attempts are spent. An operator can try it again.' },
    CANCELLED: { description: 'Not wanted any more, or there is nobody to send it to.', terminal: true },
  },
  pairs: [
    { from: null, to: 'PLANNED', type: 'mail.planned', when: 'a domain wants somebody told' },
    { from: 'PLANNED', to: 'SENDING', type: 'mail.sending', when: 'it is still valid, and written' },
    { from: 'PLANNED', to: 'CANCELLED', type: 'mail.cancelled', when: 'it is not valid any more, or cancelled' },
    { from: 'PLANNED', to: 'FAILED', type: 'mail.failed', when: 'it cannot be written' },
    { from: 'SENDING', to: 'SENT', type: 'mail.sent', when: 'the mail server takes it over' },
    { from: 'SENDING', to: 'PLANNED', type: 'mail.postponed', when: 'an attempt failed and another follows' },
    { from: 'SENDING', to: 'FAILED', type: 'mail.failed', when: 'it is refused for good, or the last attempt failed' },
    { from: 'SENDING', to: 'CANCELLED', type: 'mail.cancelled', when: 'its job is cancelled' },
    { from: 'FAILED', to: 'PLANNED', type: 'mail.revived', when: 'an operator tries it again' },
    { from: 'FAILED', to: 'CANCELLED', type: 'mail.cancelled', when: 'an operator has dealt with it otherwise' },
  ],
})
