import { statement, type Tx } from '../../../database/index.ts'
import type { VersionStatus } from '../lifecycles.ts'

/** A version that may be a draft, and since when nobody has edited it. */
export interface IdleDraft {
  readonly status: VersionStatus
  readonly number: number
  readonly name: string | null
  readonly contentRevision: number
  /** Who edited it last, or opened it: whom a reminder is for. */
  readonly editor: string
  /** Whole days of 24 hours, by the database's clock. */
  readonly idleDays: number
}

/** Null when the tenant has no such version. */
export async function idleDraft(tx: Tx, versionId: string): Promise<IdleDraft | null> {
  const [draft] = await tx.query(IDLE_DRAFT, [versionId])
  return draft ?? null
}

/** The newest edit of the version `v`, or its opening, as `touched`. */
export const TOUCHED = `lateral (
    select coalesce(o.actor, v.created_by) as editor, coalesce(o.created_at, v.created_at) as at
    from (values (1)) as one
    left join lateral (
      select actor, created_at from org_model_operation
      where tenant_id = v.tenant_id and version_id = v.id order by seq desc limit 1
    ) o on true
  ) touched`

const IDLE_DRAFT = statement<IdleDraft>(
  'organisation.mail.idle_draft',
  `select v.status, v.number, v.name, v.content_revision::float8 as "contentRevision", touched.editor,
     floor(extract(epoch from now() - touched.at) / 86400)::int as "idleDays"
   from org_model_version v cross join ${TOUCHED}
   where v.tenant_id = $1::uuid and v.id = $2::uuid`,
)
