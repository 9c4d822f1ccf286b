import { isStorable, statement, type Queryable } from '../database/index.ts'
import { NotFoundError, ValidationError } from '../errors/index.ts'
import type { Claims } from './token.ts'
import { LONGEST_SUBJECT, TokenRefused } from './token.ts'
import type { OperatorCall } from './tenant.ts'
import { mustBeAllowed } from './permission.ts'

/** What a subject may do in a tenant, as of the newest token seen. */
export interface Membership {
  readonly roles: readonly string[]
  /** False from a revocation until a token that was issued after it. */
  readonly active: boolean
}

/**
 * Lets the holder of a verified token in: files the membership at first sight and with every newer token, and
 * gives back the roles of the newest. Read on every request, so that a revocation holds from the next one on;
 * it costs one look-up through two primary keys, which is less than keeping a cache right over many processes.
 * @throws TokenRefused when the tenant does not exist or the token was issued before a revocation.
 */
export async function admit(database: Queryable, tenantId: string, claims: Claims): Promise<readonly string[]> {
  const [seen] = await database.run(SEEN, [tenantId, claims.subject])
  if (seen === undefined) throw new TokenRefused('The token names a tenant that does not exist here.')
  const known = seen.tokenIssuedAt !== null && !replaces(claims, seen.tokenIssuedAt, seen)
  const row = known ? seen : ((await database.run(FILE, filing(tenantId, claims)))[0] ?? seen)
  if (row.revokedAt !== null && claims.issuedAt <= row.revokedAt)
    throw new TokenRefused('This membership was revoked after the token was issued.')
  return row.roles ?? []
}

// `iat` counts whole seconds, so of two tokens of one second the one seen last holds.
const replaces = (claims: Claims, issuedAt: Date, { roles, email }: MembershipRow): boolean =>
  claims.issuedAt > issuedAt ||
  (claims.issuedAt.getTime() === issuedAt.getTime() &&
    (claims.roles.join() !== (roles ?? []).join() || (claims.email !== null && claims.email !== email)))

const filing = (tenantId: string, claims: Claims) => [
  tenantId,
  claims.subject,
  JSON.stringify(claims.roles),
  claims.issuedAt,
  claims.email,
]

/** What a job re-reads before it acts for somebody; null when the subject was never seen in the tenant. */
export async function membershipOf(
  tx: Queryable,
  who: { readonly tenantId: string; readonly subject: string },
): Promise<Membership | null> {
  const [row] = await tx.run(OF, [who.tenantId, who.subject])
  return row === undefined ? null : { roles: row.roles, active: row.active }
}

/** Where mail reaches a subject, and whether it may still be written to; null when it was never seen in the tenant. */
export async function addressOf(
  tx: Queryable,
  who: { readonly tenantId: string; readonly subject: string },
): Promise<{ readonly email: string | null; readonly active: boolean } | null> {
  const [row] = await tx.run(ADDRESS_OF, [who.tenantId, who.subject])
  return row ?? null
}

/**
 * Ends what a subject may do in a tenant: every token issued up to now is refused, also for open streams, and
 * jobs no longer act for the subject. Its mail address is forgotten. A token issued later lets it in again.
 * @throws ForbiddenError, NotFoundError, ValidationError
 */
export async function revokeMembership(
  call: OperatorCall,
  who: { readonly tenantId: string; readonly subject: string },
): Promise<{ readonly revokedAt: Date }> {
  mustBeAllowed(call.operator, 'membership.revoke')
  // What no token can name: kept, it would look like a revocation and be none.
  if (who.subject === '' || who.subject.length > LONGEST_SUBJECT || !isStorable(who.subject))
    throw new ValidationError(`A subject has 1 to ${LONGEST_SUBJECT} characters.`, { path: ['subject'] })
  const [row] = await call.database.run(REVOKE, [who.tenantId, who.subject])
  if (row === undefined) throw new NotFoundError('The tenant', { path: ['tenantId'] })
  return row
}

/** Of the given pairs, those whose token no longer counts. For open connections. */
export async function revokedAmong(
  database: Queryable,
  holders: readonly { readonly tenantId: string; readonly subject: string; readonly issuedAt: Date }[],
): Promise<{ tenantId: string; subject: string; revokedAt: Date }[]> {
  if (holders.length === 0) return []
  return database.run(REVOKED_AMONG, [JSON.stringify(holders)])
}

interface MembershipRow {
  roles: string[] | null
  email: string | null
  tokenIssuedAt: Date | null
  revokedAt: Date | null
}

const SEEN = statement<MembershipRow>(
  'viewer.membership.seen',
  `select m.roles, m.email, m.token_issued_at as "tokenIssuedAt", m.revoked_at as "revokedAt"
   from tenant t left join membership m on m.tenant_id = t.id and m.subject = $2
   where t.id = $1::uuid`,
)

// The comparison stands in the statement too: two processes may see an older and a newer token at once.
const FILE = statement<MembershipRow>(
  'viewer.membership.file',
  `insert into membership (tenant_id, subject, roles, token_issued_at, email)
   values ($1::uuid, $2, array(select jsonb_array_elements_text($3::jsonb)), $4::timestamptz, $5)
   on conflict (tenant_id, subject) do update
     set roles = case when excluded.token_issued_at >= membership.token_issued_at then excluded.roles
                      else membership.roles end,
         token_issued_at = greatest(membership.token_issued_at, excluded.token_issued_at),
         -- A token without an address takes none away; one from before a revocation brings none back.
         email = case when excluded.email is not null and excluded.token_issued_at >= membership.token_issued_at
                       and (membership.revoked_at is null or excluded.token_issued_at > membership.revoked_at)
                      then excluded.email else membership.email end
   returning roles, email, token_issued_at as "tokenIssuedAt", revoked_at as "revokedAt"`,
)

const OF = statement<{ roles: string[]; active: boolean }>(
  'viewer.membership.of',
  `select roles, (revoked_at is null or token_issued_at > revoked_at) as active
   from membership where tenant_id = $1::uuid and subject = $2`,
)

const ADDRESS_OF = statement<{ email: string | null; active: boolean }>(
  'viewer.membership.address_of',
  `select email, (revoked_at is null or token_issued_at > revoked_at) as active
   from membership where tenant_id = $1::uuid and subject = $2`,
)

// A subject that was never seen can be revoked too: its present tokens must not open the door later.
const REVOKE = statement<{ revokedAt: Date }>(
  'viewer.membership.revoke',
  `insert into membership (tenant_id, subject, roles, token_issued_at, revoked_at)
   select id, $2, '{}', now(), clock_timestamp() from tenant where id = $1::uuid
   on conflict (tenant_id, subject) do update set revoked_at = excluded.revoked_at, email = null
   returning revoked_at as "revokedAt"`,
)

const REVOKED_AMONG = statement<{ tenantId: string; subject: string; revokedAt: Date }>(
  'viewer.membership.revoked_among',
  `select m.tenant_id as "tenantId", m.subject, m.revoked_at as "revokedAt"
   from jsonb_to_recordset($1::jsonb) as h("tenantId" uuid, subject text, "issuedAt" timestamptz)
   join membership m on m.tenant_id = h."tenantId" and m.subject = h.subject
   where m.revoked_at >= h."issuedAt"`,
)
