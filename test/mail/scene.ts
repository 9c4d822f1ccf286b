import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import {
  composeMail,
  defineMailKind,
  type MailContent,
  type MailRequest,
  type MailToCompose,
  type MailTransport,
  type NothingToSay,
  planMail,
  senderOf,
  smtpTransport,
  type SmtpServer,
  type SmtpWaits,
} from '../../src/domain/mail/index.ts'
import type { TestDatabase } from '../harness/database.ts'
import { finished, makeDue, type Signals, waiting } from '../jobs/support.ts'

export const SENDER = senderOf('Regie <regie@regie.example>')!

interface Facts {
  readonly n: number
}

/** What the kind of these tests has to say; a test puts in its place what it needs. */
export const script: { say: (mail: MailToCompose<Facts>) => MailContent | NothingToSay } = { say: () => HELLO }
export const HELLO: MailContent = { subject: 'Hello', text: 'Something happened.' }

export const noteKind = defineMailKind<Facts>({
  kind: 'test.note',
  facts: z.object({ n: z.int() }),
  compose: async (_tx, mail) => script.say(mail),
})

/** The delivery job over a real transport. */
export function deliveryTo(server: SmtpServer, waits: Partial<SmtpWaits> = {}) {
  const transport = smtpTransport(server, { waits })
  return { job: deliveryOver(transport), transport }
}

export const deliveryOver = (transport: MailTransport | null) =>
  composeMail({ kinds: [noteKind], outgoing: transport === null ? null : { sender: SENDER, transport } })

/** A tenant whose member Anna can be written to. */
export async function tenantWithAnna(db: TestDatabase, email: string | null = 'anna@acme.example'): Promise<string> {
  const tenantId = randomUUID()
  await db.pool.query('insert into tenant (id, name) values ($1, $2)', [tenantId, `Tenant ${tenantId}`])
  await db.pool.query(
    `insert into membership (tenant_id, subject, roles, token_issued_at, email) values ($1, 'anna', '{editor}', now(), $2)`,
    [tenantId, email],
  )
  return tenantId
}

/** Plans a note to Anna; answers with its mail and its job. */
export async function plan(db: TestDatabase, tenantId: string, own: Partial<MailRequest<Facts>> = {}) {
  const planned = await db.database.transaction(tenantId, (tx) =>
    planMail(tx, noteKind, {
      about: randomUUID(),
      recipient: 'anna',
      key: randomUUID(),
      facts: { n: 1 },
      correlationId: 'corr-mail',
      ...own,
    }),
  )
  return { ...planned, jobId: (await mailRow(db, planned.mailId)).job_id }
}

export interface MailRow {
  readonly job_id: string
  readonly status: string
  readonly version: number
  readonly message_id: string | null
  readonly reply: string | null
  readonly code: string | null
  readonly problem: string | null
  readonly recipient: string
  readonly facts: unknown
}

export async function mailRow(db: TestDatabase, id: string): Promise<MailRow> {
  const { rows } = await db.pool.query<MailRow>('select * from mail where id = $1', [id])
  return rows[0]!
}

/** How the job stands: its status, and why. */
export async function jobOf(db: TestDatabase, jobId: string) {
  const over = await finished(db, jobId)
  if (over !== undefined) return { status: over.status, attempt: over.attempt, code: over.code, reason: over.reason }
  const row = await waiting(db, jobId)
  return { status: row!.status, attempt: row!.attempt, waitsMs: Number(row!.due_in_ms) }
}

/** Makes the job due, and waits until its attempt has ended. */
export async function nextAttempt(db: TestDatabase, signals: Signals, jobId: string, attempt: number): Promise<void> {
  await makeDue(db, jobId)
  await signals.first('ENDED', (signal) => signal.jobId === jobId && signal.attempt === attempt)
}
