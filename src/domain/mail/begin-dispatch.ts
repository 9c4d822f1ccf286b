import type { Tx } from '../../database/index.ts'
import { Failure } from '../../errors/index.ts'
import type { JobContext } from '../../jobs/index.ts'
import { type Act, transition } from '../../transitions/index.ts'
import { addressOf } from '../../viewer/index.ts'
import { mailAddress, type Sender } from './addresses/index.ts'
import type { AnyMailKind, MailContent } from './kind.ts'
import { mailLifecycle } from './lifecycle.ts'
import { BY_IDS_FOR_UPDATE, eventData, type Mail } from './mail.ts'
import { type Message, messageIdOf, messageOf } from './message.ts'

/** The message of this attempt, or the reason why there is none. */
export type Dispatch = { readonly message: Message } | { readonly obstacle: string }

/**
 * The first transaction of an attempt: is the mail still wanted, who gets it, what does it say (J31)? All of it is
 * asked anew each time, since hours may lie between two attempts.
 * @throws Failure when it is wanted and cannot be written
 */
export async function beginDispatch(
  tx: Tx,
  mailId: string,
  { kinds, sender }: { readonly kinds: ReadonlyMap<string, AnyMailKind>; readonly sender: Sender | null },
  { attempt, correlationId }: Pick<JobContext, 'attempt' | 'correlationId'>,
): Promise<Dispatch> {
  const [mail] = await tx.query(BY_IDS_FOR_UPDATE, [JSON.stringify([mailId])])
  if (mail === undefined) return { obstacle: 'mail.not_found' }
  if (mail.status === 'SENT' || mail.status === 'CANCELLED') return { obstacle: 'mail.over' }
  if (sender === null) return { obstacle: 'mail.not_configured' }

  const content = await contentOf(tx, mail, kinds)
  if ('notApplicable' in content) return { obstacle: content.notApplicable }
  const to = await mailbox(tx, mail.recipient)
  if ('obstacle' in to) return to

  const messageId = mail.messageId ?? messageIdOf(mail.id, sender)
  const act: Act = { actor: 'system', correlationId }
  await transition(tx, mailLifecycle, {
    id: mail.id,
    to: 'SENDING',
    act,
    data: eventData(mail, { attempt }),
    set: { message_id: messageId, code: null, problem: null },
  })
  return { message: messageOf(content, { messageId, from: sender, to: to.address }) }
}

/**
 * What the mail says now, or why there is nothing to say.
 * @throws Failure when it is wanted and cannot be written
 */
export async function contentOf(
  tx: Tx,
  mail: Mail,
  kinds: ReadonlyMap<string, AnyMailKind>,
): Promise<MailContent | { readonly notApplicable: string }> {
  const kind = kinds.get(mail.kind)
  // A newer release may have planned it: not a reason to give it up at once.
  if (kind === undefined)
    throw new Failure('TRANSIENT', 'mail.kind_unknown', `This version knows no mail "${mail.kind}".`)
  const facts = kind.facts.safeParse(mail.facts)
  if (!facts.success)
    throw new Failure('PERMANENT', 'mail.facts_invalid', `The facts of the mail "${mail.kind}" are not as declared.`)
  const { id, about, recipient, locale, correlationId } = mail
  return kind.compose(tx, { id, about, recipient, locale, facts: facts.data, correlationId })
}

async function mailbox(tx: Tx, subject: string): Promise<{ readonly address: string } | { readonly obstacle: string }> {
  const member = await addressOf(tx, { tenantId: tx.tenantId, subject })
  if (member === null || !member.active) return { obstacle: 'mail.recipient_left' }
  if (member.email === null) return { obstacle: 'mail.no_address' }
  const address = mailAddress(member.email)
  return address === null ? { obstacle: 'mail.address_invalid' } : { address }
}
