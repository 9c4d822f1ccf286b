import { z } from 'zod'
import type { JobDefinition } from '../../jobs/index.ts'

export interface MailJobPayload {
  readonly mailId: string
}

/**
 * What can be said of the job type without a mail server: whoever plans mail enqueues by it, and only processes that
 * run jobs have to know the server and its password.
 */
export const MAIL_DELIVERY: JobDefinition<MailJobPayload> = {
  type: 'mail.delivery',
  class: 'MAIL_DELIVERY',
  payload: z.object({ mailId: z.uuid() }),
  dependency: 'smtp',
  idempotency:
    'A mail is sent at least once: whoever dies between the server’s answer and the commit sends a second copy, under ' +
    'the same Message-ID, by which servers and programs for mail drop it. What was sent is never sent again by a retry.',
  // Above what the transport itself waits for (smtp/transport.ts), so that mostly the transport says what was slow.
  timeoutMs: 150_000,
  displayName: ({ mailId }) => `Mail [${mailId}]`,
}
