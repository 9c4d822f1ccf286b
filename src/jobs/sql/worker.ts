import { statement } from '../../database/index.ts'

/**
 * Registers workers and renews their leases. $1 workers as JSON (`id`, `process`, `slot`), $2 milliseconds. An
 * upsert, because a worker whose row was cleared away while its process was suspended must be able to go on; its
 * old claims are fenced by their epochs, not by this row.
 */
export const KEEP_WORKERS = statement<never>(
  'jobs.keep_workers',
  `insert into job_worker (id, process, slot, lease_until)
  select id, process, slot, clock_timestamp() + $2 * interval '1 millisecond'
  from jsonb_to_recordset($1::jsonb) as worker(id uuid, process text, slot integer)
  order by id
  on conflict (id) do update set lease_until = excluded.lease_until`,
)

/** A worker that is certainly gone ($1): what it still holds is rescued now instead of when the lease lapses. */
export const REMOVE_WORKER = statement<never>('jobs.remove_worker', `delete from job_worker where id = $1::uuid`)

/** Workers that died without saying so and hold nothing any more. */
export const FORGET_DEAD_WORKERS = statement<never>(
  'jobs.forget_dead_workers',
  `delete from job_worker w
  where lease_until < clock_timestamp() - interval '1 minute' and not exists (select from job where worker_id = w.id)`,
)

export interface LostRow {
  readonly id: string
  readonly tenantId: string
  readonly type: string
}

/** Jobs of known types ($1) whose worker's lease has lapsed, by id; at most $2, after $3. `RESCUE` decides again under the lock. */
export const FIND_LOST = statement<LostRow>(
  'jobs.find_lost',
  `select id, tenant_id as "tenantId", type from job
  where worker_id is not null and type = any($1::text[]) and id > $3::uuid
    and not exists (select from job_worker w where w.id = job.worker_id and w.lease_until > clock_timestamp())
  order by id limit $2`,
)

export interface UnknownTypeRow {
  readonly type: string
  /** How many wait, counted up to 1,000. */
  readonly waiting: number
}

/** Types that wait but are not among $1: a loose scan over the types, not over the jobs. */
export const UNKNOWN_TYPES = statement<UnknownTypeRow>(
  'jobs.unknown_types',
  `with recursive kind as (
    (select type from job where worker_id is null order by type limit 1)
    union all
    select (select job.type from job where worker_id is null and job.type > kind.type order by job.type limit 1)
    from kind where kind.type is not null
  )
  select type, (
    select count(*)::int from (select from job where worker_id is null and job.type = kind.type limit 1000) few
  ) as waiting
  from kind where type is not null and type <> all($1::text[])`,
)
