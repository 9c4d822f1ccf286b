import { statement, type Tx } from '../../database/index.ts'
import { Failure } from '../../errors/index.ts'
import { defineJob, type JobDefinition, type JobResult, notApplicable, succeeded } from '../../jobs/index.ts'
import { transition } from '../../transitions/index.ts'
import type { Sender } from './addresses/index.ts'
import { beginDispatch, contentOf } from './begin-dispatch.ts'
import { MAIL_DELIVERY, type MailJobPayload } from './delivery-type.ts'
import type { AnyMailKind } from './kind.ts'
import { mailLifecycle } from './lifecycle.ts'
import { BY_IDS_FOR_UPDATE, eventData, type Mail } from './mail.ts'
import { recordOutcomes } from './record-outcomes.ts'
import type { MailTransport } from './transport.ts'

export interface MailOptions {
  /** What the domains have to say to people. */
  readonly kinds: readonly AnyMailKind[]
  /** Null: mail is off; what is planned is cancelled with `mail.not_configured` when its turn comes. */
  readonly outgoing: { readonly sender: Sender; readonly transport: MailTransport } | null
}

/**
 * The job that delivers mail, put together once per worker thread. An attempt is a transaction that asks whether the
 * mail is still wanted and writes it, the conversation with the mail server, and the transaction that ends the job.
 * @throws Error when two kinds have one name
 */
export function composeMail({ kinds, outgoing }: MailOptions): JobDefinition<MailJobPayload> {
  const known = new Map(kinds.map((kind) => [kind.kind, kind]))
  if (known.size < kinds.length) throw new Error('Two kinds of mail have one name. Names are unique; rename one.')
  const writing = { kinds: known, sender: outgoing?.sender ?? null }

  return defineJob({
    ...MAIL_DELIVERY,

    async run({ mailId }, context): Promise<JobResult> {
      const dispatch = await context.step((tx) => beginDispatch(tx, mailId, writing, context))
      if ('obstacle' in dispatch) return notApplicable(dispatch.obstacle)
      const { reply } = await outgoing!.transport.send(dispatch.message, context.signal)
      return context.transaction(async (tx) => {
        await markSent(tx, mailId, reply, context.correlationId)
        return succeeded()
      })
    },

    onOutcome: recordOutcomes,
    stillValid: (tx, { mailId }) => objection(tx, mailId, known),
  })
}

async function markSent(tx: Tx, mailId: string, reply: string, correlationId: string): Promise<void> {
  const [mail] = await tx.query(ABOUT, [mailId])
  if (mail === undefined) throw new Error(`The mail ${mailId} is gone.`)
  await transition(tx, mailLifecycle, {
    id: mailId,
    to: 'SENT',
    act: { actor: 'system', correlationId },
    data: eventData(mail, {}),
    set: { reply },
  })
}

/**
 * Why an operator may not have it tried again, in a sentence; null when nothing speaks against it. Asked again at the
 * dispatch, as always: this is for telling the operator at once.
 */
async function objection(tx: Tx, mailId: string, kinds: ReadonlyMap<string, AnyMailKind>): Promise<string | null> {
  const [mail] = await tx.query(BY_IDS_FOR_UPDATE, [JSON.stringify([mailId])])
  if (mail === undefined) return 'The mail does not exist any more.'
  if (mail.status !== 'FAILED') return `The mail is ${mail.status} and is not sent again.`
  try {
    const content = await contentOf(tx, mail, kinds)
    return 'notApplicable' in content ? `There is nothing to tell any more: ${content.notApplicable}.` : null
  } catch (error) {
    if (error instanceof Failure) return error.message
    throw error
  }
}

const ABOUT = statement<Pick<Mail, 'kind' | 'about'>>(
  'mail.about',
  'select kind, about_id::text as about from mail where tenant_id = $1::uuid and id = $2::uuid',
)
