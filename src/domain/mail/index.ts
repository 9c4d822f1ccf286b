export { mailAddress, type Sender, senderOf } from './addresses/index.ts'
export { composeMail, type MailOptions } from './delivery-job.ts'
export { MAIL_DELIVERY, type MailJobPayload } from './delivery-type.ts'
export {
  type AnyMailKind,
  defineMailKind,
  type MailContent,
  type MailKind,
  type MailToCompose,
  type NothingToSay,
} from './kind.ts'
export { mailLifecycle, type MailStatus } from './lifecycle.ts'
export type { Message } from './message.ts'
export { type MailRequest, planMail, type PlannedMail } from './plan.ts'
export { mailRetention, mailRetentionDaily } from './retention.ts'
export { type SmtpServer, smtpTransport, type SmtpWaits } from './smtp/transport.ts'
export type { MailTransport } from './transport.ts'
