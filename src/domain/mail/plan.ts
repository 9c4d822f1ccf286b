import { v7 as uuidv7 } from 'uuid'
import type { Tx } from '../../database/index.ts'
import { enqueue } from '../../jobs/index.ts'
import { created } from '../../transitions/index.ts'
import { MAIL_DELIVERY } from './delivery-type.ts'
import type { MailKind } from './kind.ts'
import { mailLifecycle } from './lifecycle.ts'
import { BY_KEY, eventData, INSERT } from './mail.ts'

export interface MailRequest<Facts> {
  /** Id of what it is about. */
  readonly about: string
  /** `sub` of the one it is for; the address is looked up at dispatch. */
  readonly recipient: string
  /** Unique per tenant and kind: a second request with the same key is the first mail. 1 to 300 characters. */
  readonly key: string
  readonly facts: Facts
  /** Language of the text, as a BCP 47 tag. Default `en`. */
  readonly locale?: string
  readonly correlationId: string
  /** Subject of the viewer who caused it. Default `system`. */
  readonly triggeredBy?: string
}

export interface PlannedMail {
  readonly mailId: string
  /** False when the key had been used: `mailId` is the earlier mail, whatever became of it. */
  readonly created: boolean
}

/**
 * Writes a mail and its job in the caller's transaction; both exist when, and only if, that commits (J46). Nothing
 * is sent, and nobody waits for a mail server.
 * @throws ZodError when the facts are not as the kind declares them
 */
export async function planMail<Facts>(
  tx: Tx,
  { kind, facts }: MailKind<Facts>,
  request: MailRequest<Facts>,
): Promise<PlannedMail> {
  const { about, recipient, key, correlationId, locale = 'en', triggeredBy = 'system' } = request
  const id = uuidv7()
  const jobId = uuidv7()
  const mail = { id, kind, about, key, recipient, locale, facts: facts.parse(request.facts), jobId, correlationId }
  const [written] = await tx.query(INSERT, [JSON.stringify(mail)])
  if (written === undefined) {
    // A statement of its own: its snapshot shows what another transaction has committed meanwhile.
    const [earlier] = await tx.query(BY_KEY, [kind, key])
    if (earlier === undefined) throw new Error(`The mail ${kind} "${key}" can be neither written nor found.`)
    return { mailId: earlier.id, created: false }
  }
  const act = { actor: triggeredBy, correlationId }
  await created(tx, mailLifecycle, { id, status: 'PLANNED', act, data: eventData(mail, {}) })
  await enqueue(tx, MAIL_DELIVERY, {
    jobId,
    tenantId: tx.tenantId,
    payload: { mailId: id },
    idempotencyKey: `${kind} ${key}`,
    correlationId,
    triggeredBy,
  })
  return { mailId: id, created: true }
}
