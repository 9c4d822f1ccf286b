import { statement } from '../database/index.ts'

/**
 * Takes the key for this transaction: no row means that it was used before (and has not lapsed). A concurrent
 * request with the same key waits on the primary key until this transaction has ended, and then sees its row or,
 * after a rollback, takes the key itself. Lapsed keys of the tenant go on the way, a few at a time, so the table
 * needs no sweeper; what another transaction holds is left to it.
 */
export const TAKE_KEY = statement<{ taken: boolean }>(
  'idempotency.take',
  `with lapsed as (
     delete from idempotency_key as k
     using (
       select tenant_id, actor, mutation, key from idempotency_key
       where tenant_id = $1::uuid and expires_at < now() and (actor, mutation, key) <> ($2, $3, $4)
       limit 10 for update skip locked
     ) as old
     where (k.tenant_id, k.actor, k.mutation, k.key) = (old.tenant_id, old.actor, old.mutation, old.key)
   )
   insert into idempotency_key as k (tenant_id, actor, mutation, key, request_hash, expires_at)
   values ($1::uuid, $2, $3, $4, $5, now() + make_interval(hours => $6::int))
   on conflict (tenant_id, actor, mutation, key) do update
     set request_hash = excluded.request_hash, subjects = '[]', created_at = now(), expires_at = excluded.expires_at
     where k.expires_at < now()
   returning true as taken`,
)

/** Keeps what this transaction did: the subjects of the events it wrote, found by its own transaction id. */
export const KEEP_SUBJECTS = statement<unknown>(
  'idempotency.keep',
  `update idempotency_key set subjects = coalesce((
     select jsonb_agg(distinct jsonb_build_object('kind', subject_kind, 'id', subject_id))
     from event where xid = pg_current_xact_id() and tenant_id = $1::uuid), '[]')
   where tenant_id = $1::uuid and actor = $2 and mutation = $3 and key = $4`,
)

export const READ_KEY = statement<{ requestHash: string; subjects: readonly { kind: string; id: string }[] }>(
  'idempotency.read',
  `select request_hash as "requestHash", subjects from idempotency_key
   where tenant_id = $1::uuid and actor = $2 and mutation = $3 and key = $4`,
)
