import { statement } from '../../database/index.ts'

export interface LaneRow {
  readonly type: string
  readonly tenantId: string
  readonly urgency: number
  /** Milliseconds until its first job is due; not positive when it is due now. */
  readonly dueInMs: number
}

/**
 * Which (type, tenant, priority) lanes have something waiting. $1 the types this process knows, $2 the tenant
 * at which to begin, $3 most lanes per type.
 *
 * A loose index scan: every hop is one descent of `job_waiting` to the next lane's first row, whose due time
 * comes with it. So the cost is the number of lanes, never the backlog. Once a tenant's most urgent lane is due,
 * the hop skips the tenant's lesser ones.
 *
 * Rejected: a window over the backlog (699 ms and temporary files for 300,000 jobs of 1,000 tenants); a row per
 * tenant with a counter or an earliest-due hint (fast to read, but every enqueue of a tenant then queues for
 * that row, and an enqueue that commits while a claim empties the lane is missed).
 */
export const FIND_LANES = statement<LaneRow>(
  'jobs.find_lanes',
  `with recursive lane as (
    select known.type, first.*
    from unnest($1::text[]) as known(type) cross join lateral (
      select tenant_id, urgency, due, 1 as hops from job
      where worker_id is null and job.type = known.type and (tenant_id, urgency) > ($2::uuid, -32768)
      order by tenant_id, urgency, due limit 1
    ) first
    union all
    select lane.type, next.*
    from lane cross join lateral (
      select tenant_id, urgency, due, lane.hops + 1 from job
      where worker_id is null and job.type = lane.type
        and (tenant_id, urgency) > (lane.tenant_id, case when lane.due <= now() then 32767 else lane.urgency end)
      order by tenant_id, urgency, due limit 1
    ) next
    where lane.hops < $3
  )
  select type, tenant_id::text as "tenantId", urgency, (extract(epoch from due - now()) * 1000)::float8 as "dueInMs"
  from lane`,
)
