import { statement } from '../../database/index.ts'
import type { MailStatus } from './lifecycle.ts'

/** A mail as its row knows it: whom it is for and what it is about, neither the address nor the text. */
export interface Mail {
  readonly id: string
  readonly kind: string
  readonly about: string
  readonly key: string
  readonly recipient: string
  readonly locale: string
  readonly facts: unknown
  readonly status: MailStatus
  readonly version: number
  readonly jobId: string
  readonly correlationId: string
  /** The same for all its attempts; null before the first. */
  readonly messageId: string | null
}

/** What its events tell. */
export const eventData = ({ kind, about }: Pick<Mail, 'kind' | 'about'>, more: Readonly<Record<string, unknown>>) => ({
  kind,
  aboutId: about,
  ...more,
})

const COLUMNS = `id::text, kind, about_id::text as about, key, recipient, locale, facts, status, version,
  job_id::text as "jobId", correlation_id as "correlationId", message_id as "messageId"`

/** $2 ids as JSON. Ascending, as the transitions lock. */
export const BY_IDS_FOR_UPDATE = statement<Mail>(
  'mail.by_ids_for_update',
  `select ${COLUMNS} from mail
   where tenant_id = $1::uuid and id in (select i::uuid from jsonb_array_elements_text($2::jsonb) i)
   order by id for update`,
)

/** $2 kind, $3 key. */
export const BY_KEY = statement<Mail>(
  'mail.by_key',
  `select ${COLUMNS} from mail where tenant_id = $1::uuid and kind = $2 and key = $3`,
)

/** $2 the mail as JSON. Answers nothing when there is one with this key; waits for whoever is writing it. */
export const INSERT = statement<{ readonly id: string }>(
  'mail.insert',
  `insert into mail (tenant_id, id, kind, about_id, key, recipient, locale, facts, status, job_id, correlation_id)
   select $1::uuid, id, kind, about, key, recipient, locale, facts, 'PLANNED', "jobId", "correlationId"
   from jsonb_to_record($2::jsonb) as m(
     id uuid, kind text, about uuid, key text, recipient text, locale text, facts jsonb, "jobId" uuid,
     "correlationId" text)
   on conflict (tenant_id, kind, key) do nothing
   returning id::text`,
)
