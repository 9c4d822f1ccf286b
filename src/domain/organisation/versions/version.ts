import type { TenantPrisma } from '../../../database/index.ts'
import type { VersionStatus } from '../lifecycles.ts'

export type VersionSource = 'EDIT' | 'REVERT' | 'IMPORT'

/** A version of the organisation model, without its content. */
export interface OrgModelVersion {
  readonly id: string
  /** Counts the tenant's versions from 1. */
  readonly number: number
  readonly status: VersionStatus
  /** Rises by one with every transition, edits included. */
  readonly version: number
  /** The active version when the draft was opened: what its changes are measured against. Null for number 1. */
  readonly baseVersionId: string | null
  readonly source: VersionSource
  readonly revertsVersionId: string | null
  readonly name: string | null
  readonly note: string | null
  /** Rises by one with every edit; what an edit expects as `expectedContentRevision`. */
  readonly contentRevision: number
  /** Of its content, from the moment at which that is final. */
  readonly contentHash: string | null
  readonly createdBy: string
  readonly createdAt: Date
  readonly activatedBy: string | null
  readonly activatedAt: Date | null
  readonly archivedAt: Date | null
  readonly discardedBy: string | null
  readonly discardedAt: Date | null
  readonly discardReason: string | null
}

type Row = NonNullable<Awaited<ReturnType<TenantPrisma['orgModelVersion']['findFirst']>>>

export const versionOf = ({ tenantId: _, ...row }: Row): OrgModelVersion => ({
  ...row,
  status: row.status as VersionStatus,
  source: row.source as VersionSource,
  contentRevision: Number(row.contentRevision),
})
