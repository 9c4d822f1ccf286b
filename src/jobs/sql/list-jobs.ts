import type { SqlValue, Statement } from '../../database/index.ts'
import type { JobStatus } from '../definition.ts'
import { HELD_UNTIL } from '../operating/held.ts'
import type { JobFilter } from '../operating/job-row.ts'
import { toTenantColumn } from '../tenant.ts'
import { countFinishedOfTenant } from './counts.ts'

/** A row as the two tables together give it. */
export interface ListedRow {
  readonly jobId: string
  readonly tenantId: string
  readonly type: string
  readonly displayName: string
  readonly status: JobStatus
  readonly priority: number
  readonly attempt: number
  readonly attemptBase: number
  readonly maxAttempts: number
  readonly lost: number
  readonly dueAt: Date | null
  readonly held: boolean
  readonly createdAt: Date
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
  readonly cancelRequestedAt: Date | null
  readonly failureClass: string | null
  readonly code: string | null
  readonly message: string | null
  readonly reason: string | null
  readonly resolution: 'HANDLED' | null
  readonly correlationId: string
  readonly triggeredBy: string
  readonly batchId: string | null
  readonly workerId: string | null
}

/** Which ids: those after a place in the list's direction, or these. */
export type Place =
  | { readonly ids: readonly string[] }
  | { readonly after: string | null; readonly newestFirst: boolean; readonly limit: number }

/** How many finished jobs fit tenant, types and statuses: what the planner cannot know of values that go together. */
export type Finished = 'NONE' | 'FEW' | 'MANY'

const LIVE: readonly JobStatus[] = ['SCHEDULED', 'RETRY_SCHEDULED', 'PROCESSING']
const OVER: readonly JobStatus[] = ['SUCCEEDED', 'FAILED', 'CANCELLED']

/**
 * One page over `job` and `job_finished`, and its values. Written for the filter at hand, and without a name, so that
 * each execution is planned for its own values: one text with `$n is null or …` for every filter can use none of the
 * partial indexes, and a generic plan cannot know a rare type (bloom filters) from a frequent one (newest first).
 *
 * Reads only, no row is locked (pain 8). Each table gives at most a page in the order of its key, so that neither the
 * backlog nor the history is sorted.
 */
export function listing(
  filter: JobFilter,
  place: Place,
  finished: Finished,
): {
  statement: Statement<ListedRow>
  values: SqlValue[]
} {
  const { page, order, values } = pageOfJobs(filter, place, finished)
  const text = `${page}
  select page.id::text as "jobId", page.tenant_id::text as "tenantId", page.type, page.display_name as "displayName",
    page.status, -page.urgency::int as priority, page.attempt::int as attempt, page.attempt_base::int as "attemptBase",
    policy.max_attempts::int as "maxAttempts", page.lost::int as lost,
    case when page.status in ('SCHEDULED', 'RETRY_SCHEDULED') and page.due < '${HELD_UNTIL}' then page.due end as "dueAt",
    coalesce(page.status <> 'PROCESSING' and page.due >= '${HELD_UNTIL}', false) as held,
    page.created_at as "createdAt", page.claimed_at as "startedAt", page.finished_at as "finishedAt",
    page.cancel_requested_at as "cancelRequestedAt", coalesce(page.failure_class, last.failure_class) as "failureClass",
    coalesce(page.code, last.code) as code, coalesce(page.message, last.message) as message, page.reason,
    page.resolution, page.correlation_id as "correlationId", page.triggered_by as "triggeredBy",
    page.batch_id::text as "batchId", page.worker_id::text as "workerId"
  from page
  join job_policy policy on policy.id = page.policy_id
  left join lateral (
    ${lastAttempt('page.id')}
  ) last on page.finished_at is null and page.attempt > 0
  order by page.${order}`
  return { statement: { name: '', text }, values }
}

export interface SelectedRow {
  readonly jobId: string
  readonly tenantId: string
  readonly type: string
  readonly status: JobStatus
}

/** As `listing`, only what a bulk act needs of its jobs. */
export function selecting(
  filter: JobFilter,
  limit: number,
  finished: Finished,
): { statement: Statement<SelectedRow>; values: SqlValue[] } {
  const { page, values } = pageOfJobs(filter, { after: null, newestFirst: false, limit }, finished)
  const text = `${page}
  select id::text as "jobId", tenant_id::text as "tenantId", type, status from page order by page.id`
  return { statement: { name: '', text }, values }
}

function pageOfJobs(
  filter: JobFilter,
  place: Place,
  finished: Finished,
): { page: string; order: string; values: SqlValue[] } {
  const values: SqlValue[] = []
  const value = (given: SqlValue): string => `$${values.push(given)}`
  const list = (given: readonly string[]) =>
    `array(select jsonb_array_elements_text(${value(JSON.stringify(given))}::jsonb))`

  const both: string[] = []
  let order = 'id desc'
  let limit = ''
  if ('ids' in place) both.push(`id = any((${list(place.ids)})::uuid[])`)
  else {
    if (place.after !== null) both.push(`id ${place.newestFirst ? '<' : '>'} ${value(place.after)}::uuid`)
    order = place.newestFirst ? 'id desc' : 'id'
    limit = `limit ${value(place.limit)}::int`
  }
  const ofTypes = () => typeConditions(filter, value, list)
  both.push(...commonConditions(filter, value))
  const statuses = (of: readonly JobStatus[]) => of.filter((status) => filter.statuses?.includes(status) ?? true)
  const parts: string[] = []
  const live = liveConditions(filter, statuses(LIVE), value)
  if (live !== null)
    parts.push(`(select ${LIVE_COLUMNS} from job where ${all(both, ofTypes(), live)} order by ${order} ${limit})`)
  const over = overConditions(filter, statuses(OVER), value)
  if (over !== null) {
    const rows = `select ${OVER_COLUMNS} from job_finished`
    if (finished !== 'MANY') {
      // None a moment ago: asked once more in this statement's snapshot, or a job that has just ended would be nowhere.
      const none = finished === 'NONE' ? [`(${finishedOfTenant(filter, value)}) > 0`] : []
      // `offset 0` keeps the planner from walking down the key in the hope of meeting a few jobs among millions.
      const few = `${rows} where ${all(both, ofTypes(), over, none)} offset 0`
      parts.push(`(select * from (${few}) few order by ${order} ${limit})`)
    } else if (ofEachType(filter)) {
      const ofOne = `${rows} where ${all(both, over, ['type = of.wanted'])} order by ${order} ${limit}`
      parts.push(`(select each.* from unnest(${list([...new Set(filter.types)])}) of(wanted) cross join lateral (${ofOne}) each
        order by ${order} ${limit})`)
    } else parts.push(`(${rows} where ${all(both, ofTypes(), over)} order by ${order} ${limit})`)
  }
  // Nothing can fit: a statement that names no value.
  if (parts.length === 0)
    return { page: `with page as (select ${LIVE_COLUMNS} from job where false)`, order: 'id', values: [] }
  const page = `with page as materialized (
    select * from (${parts.join(' union all ')}) found order by ${order} ${limit}
  )`
  return { page, order, values }
}

type Value = (given: SqlValue) => string
type List = (given: readonly string[]) => string

const all = (...conditions: readonly (readonly string[])[]): string => conditions.flat().join(' and ') || 'true'

function typeConditions({ types }: JobFilter, value: Value, list: List): string[] {
  if (types === undefined) return []
  const [only, ...others] = types
  return [only !== undefined && others.length === 0 ? `type = ${value(only)}` : `type = any(${list(types)})`]
}

/** How many finished jobs of the filter's tenant, types and statuses there are, as `finishedThatFit` asks. */
const finishedOfTenant = ({ tenantId, types, statuses }: JobFilter, value: Value): string =>
  countFinishedOfTenant(
    value(toTenantColumn(tenantId ?? null)),
    value(types === undefined ? null : JSON.stringify(types)),
    value(JSON.stringify(statuses ?? OVER)),
  )

/**
 * Whether several types are looked for one by one, each through the index of what did not succeed: asked for together,
 * that index gives no order, and the planner walks through all that failed instead (0.3 to 0.7 s for types of which
 * none did, among ten million).
 */
const ofEachType = ({ types, tenantId, code, failureClass, statuses }: JobFilter): boolean =>
  types !== undefined &&
  types.length > 1 &&
  tenantId === undefined &&
  (code !== undefined || failureClass !== undefined || statuses?.includes('SUCCEEDED') === false)

/**
 * In the text, since the planner must know them to see which partial index will do, and only once: with the index's own
 * condition beside it the planner would believe that hardly any row is left. They are our own constants.
 */
const oneOf = (statuses: readonly JobStatus[]): string => `status in (${statuses.map((one) => `'${one}'`).join(', ')})`

function commonConditions(filter: JobFilter, value: Value): string[] {
  const conditions: string[] = []
  if (filter.tenantId !== undefined) conditions.push(`tenant_id = ${value(toTenantColumn(filter.tenantId))}::uuid`)
  if (filter.correlationId !== undefined) conditions.push(`correlation_id = ${value(filter.correlationId)}`)
  if (filter.batchId !== undefined) conditions.push(`batch_id = ${value(filter.batchId)}::uuid`)
  // Ids begin with their time, so a time is a range of the key. Given out by the clocks of processes: an hour to spare.
  const before = filter.createdBefore ?? filter.finishedBefore
  if (filter.createdAfter !== undefined) {
    conditions.push(`created_at >= ${value(filter.createdAfter)}::timestamptz`)
    conditions.push(`id >= ${value(idAt(filter.createdAfter, -CLOCKS_APART_MS))}::uuid`)
  }
  if (filter.createdBefore !== undefined) conditions.push(`created_at < ${value(filter.createdBefore)}::timestamptz`)
  if (before !== undefined) conditions.push(`id < ${value(idAt(before, CLOCKS_APART_MS))}::uuid`)
  return conditions
}

/** What narrows `job`; null when no job there can fit. */
function liveConditions(filter: JobFilter, statuses: JobStatus[], value: Value): string[] | null {
  let asked = statuses
  if (filter.finishedAfter !== undefined || filter.finishedBefore !== undefined) return null
  if (filter.dueBefore !== undefined || filter.due !== undefined || filter.held !== undefined)
    asked = asked.filter((status) => status !== 'PROCESSING')
  if (filter.code !== undefined || filter.failureClass !== undefined)
    asked = asked.filter((status) => status === 'RETRY_SCHEDULED')
  if (asked.length === 0) return null
  const conditions = asked.length === LIVE.length ? [] : [oneOf(asked)]
  if (!asked.includes('PROCESSING')) conditions.push('worker_id is null')
  if (filter.dueBefore !== undefined)
    conditions.push(`due < least(${value(filter.dueBefore)}::timestamptz, '${HELD_UNTIL}')`)
  if (filter.due !== undefined) conditions.push(`due ${filter.due ? '<=' : '>'} now()`)
  if (filter.held !== undefined) conditions.push(`due ${filter.held ? '>=' : '<'} '${HELD_UNTIL}'`)
  const failed: string[] = []
  if (filter.code !== undefined) failed.push(`last.code = ${value(filter.code)}`)
  if (filter.failureClass !== undefined) failed.push(`last.failure_class = ${value(filter.failureClass)}`)
  if (failed.length > 0) conditions.push(`exists (select from (${lastAttempt('job.id')}) last where ${all(failed)})`)
  return conditions
}

/** What narrows `job_finished`; null when no job there can fit. */
function overConditions(filter: JobFilter, statuses: JobStatus[], value: Value): string[] | null {
  let asked = statuses
  if (filter.dueBefore !== undefined || filter.due !== undefined || filter.held !== undefined) return null
  const failed = filter.code !== undefined || filter.failureClass !== undefined
  if (failed) asked = asked.filter((status) => status === 'FAILED')
  if (asked.length === 0) return null
  const conditions = asked.length === OVER.length ? [] : [oneOf(asked)]
  if (filter.finishedAfter !== undefined) conditions.push(`finished_at >= ${value(filter.finishedAfter)}::timestamptz`)
  if (filter.finishedBefore !== undefined) conditions.push(`finished_at < ${value(filter.finishedBefore)}::timestamptz`)
  if (filter.code !== undefined) conditions.push(`code = ${value(filter.code)}`)
  if (filter.failureClass !== undefined) conditions.push(`failure_class = ${value(filter.failureClass)}`)
  return conditions
}

/** How the last attempt of a job ended; acts of operators in between are none. */
const lastAttempt = (jobId: string): string =>
  `select e.failure_class, e.code, e.message from job_event e
    where e.job_id = ${jobId} and e."from" = 'PROCESSING' order by e.epoch desc, e.id desc limit 1`

const SAME = `id, tenant_id, type, display_name, status, urgency, attempt, attempt_base, lost, policy_id, created_at,
  correlation_id, triggered_by, batch_id`
const LIVE_COLUMNS = `${SAME}, due, claimed_at, null::timestamptz as finished_at, cancel_requested_at,
  null::text as failure_class, null::text as code, null::text as message, cancel_reason as reason,
  null::text as resolution, worker_id`
const OVER_COLUMNS = `${SAME}, null::timestamptz as due, null::timestamptz as claimed_at, finished_at,
  null::timestamptz as cancel_requested_at, failure_class, code, message, reason, resolution, null::uuid as worker_id`

const CLOCKS_APART_MS = 3_600_000

/** The least UUIDv7 of a moment. */
function idAt(moment: Date, offsetMs: number): string {
  const time = Math.min(Math.max(0, moment.getTime() + offsetMs), 2 ** 48 - 1)
  const hex = time.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}
