import { statement, type Tx } from '../../../database/index.ts'

/** An open version as its lock holder sees it. */
export interface LockedVersion {
  readonly id: string
  readonly number: number
  readonly version: number
  readonly baseVersionId: string | null
  readonly contentRevision: number
}

export interface LockedVersions {
  readonly active: LockedVersion
  readonly draft: LockedVersion | null
}

type Strength = 'share' | 'update'

/**
 * Takes the active version and the draft, in ascending order of id, until the transaction ends: the first lock
 * of everything that reads or writes the model or what hangs on it. `share` for who only needs them to stay as
 * they are, `update` for activation and discard. A foreign key does not do this: it lets a row be written
 * against a version whose activation has not committed yet.
 */
export async function lockVersions(tx: Tx, strength: Strength): Promise<LockedVersions> {
  return lock(tx, LOCK_OPEN[strength])
}

/** As `lockVersions` without the draft: for those who work by the active model only. */
export async function lockActive(tx: Tx, strength: Strength): Promise<LockedVersion> {
  return (await lock(tx, LOCK_ACTIVE[strength])).active
}

/** Takes the draft for an edit; null when none is open. */
export async function lockDraft(tx: Tx): Promise<LockedVersion | null> {
  const [draft] = await tx.query(LOCK_DRAFT, [])
  return draft ?? null
}

async function lock(tx: Tx, sql: typeof LOCK_DRAFT): Promise<LockedVersions> {
  // When the statement had to wait for an activation it finds the old active version archived and drops it, and
  // its snapshot is too old to show the new one: the next statement's is not.
  for (let look = 1; look <= MOST_LOOKS; look++) {
    const rows = await tx.query(sql, [])
    const active = rows.find(({ status }) => status === 'ACTIVE')
    if (active !== undefined) return { active, draft: rows.find(({ status }) => status === 'DRAFT') ?? null }
  }
  throw new Error('The tenant has no active organisation model, or it was replaced again and again.')
}

const MOST_LOOKS = 5

type Row = LockedVersion & { readonly status: string }

const locking = (name: string, statuses: string, strength: Strength) =>
  statement<Row>(
    `organisation.version.lock.${name}.${strength}`,
    `select id::text, number, status, version, base_version_id::text as "baseVersionId",
            content_revision::float8 as "contentRevision"
     from org_model_version
     where tenant_id = $1::uuid and status in (${statuses})
     order by id
     for ${strength}`,
  )

const LOCK_OPEN = {
  share: locking('open', `'ACTIVE', 'DRAFT'`, 'share'),
  update: locking('open', `'ACTIVE', 'DRAFT'`, 'update'),
}
const LOCK_ACTIVE = {
  share: locking('active', `'ACTIVE'`, 'share'),
  update: locking('active', `'ACTIVE'`, 'update'),
}
const LOCK_DRAFT = locking('draft', `'DRAFT'`, 'update')
