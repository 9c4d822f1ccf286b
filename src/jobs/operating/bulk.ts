import { v7 as uuidv7 } from 'uuid'
import { isLockTimeout, isUnreachable, type Queryable, sqlState, statement } from '../../database/index.ts'
import { ConflictError, UserError, ValidationError } from '../../errors/index.ts'
import { jobTransaction } from '../engine/claim-transaction.ts'
import { storableJson } from '../json.ts'
import { type NewAct, RECORD_ACTS } from '../sql/acts.ts'
import {
  BULK_ACT,
  type BulkActRow,
  BULK_DONE_JOBS,
  BULK_PROGRESS,
  type BulkProgressRow,
  LOCK_BULK,
  type SelectedGroup,
} from '../sql/bulk.ts'
import type { OperatingParts } from './act.ts'
import { type By, checkedBy } from './by.ts'
import type { JobFilter } from './job-row.ts'
import { jobsById } from './list.ts'
import { perform } from './perform.ts'
import { recordAct } from './record.ts'
import { ACT_RULES, type JobAct } from './rules.ts'
import { allowing, grouped, MOST_JOBS_IN_BULK, select } from './selection.ts'
import { waitShortly } from './wait-shortly.ts'

export interface BulkRequest {
  /** A UUIDv7 of the caller's: the same one again goes on where it stopped, or answers with the result. */
  readonly bulkId: string
  readonly act: JobAct
  readonly filter: JobFilter
  /** What the preview said. More than that: nothing is done (`job.selection_grew`). Fewer is no matter. */
  readonly expectedJobs?: number
}

export interface BulkResult {
  readonly bulkId: string
  /** `selected` = `acted` + `refused` + `gone`. */
  readonly selected: number
  readonly acted: number
  /** Still there, but the act was refused: by code. */
  readonly refused: number
  readonly refusals: readonly { readonly code: string; readonly jobs: number }[]
  /** Changed their status, or went away, since they were selected. */
  readonly gone: number
  /** There were more than `MOST_JOBS_IN_BULK`: run another bulk act for the rest. */
  readonly more: boolean
}

/** Most jobs in one transaction. */
const CHUNK = 500

/**
 * One act on every job that fits, oldest first, in transactions of at most 500 jobs. The selection is kept in the
 * audit before the first job is touched, and each job has its own row there, `partOf` this one; those that refused when
 * all is over. A job whose row is
 * locked at that moment is refused (`job.busy`), not waited for.
 *
 * @throws ValidationError when the reason is blank or too long, or the filter is empty
 * @throws ConflictError `job.selection_grew`, or `job.bulk_id_reused` when the id was used for something else
 */
export async function runBulk(parts: OperatingParts, request: BulkRequest, givenBy: By): Promise<BulkResult> {
  const by = checkedBy(givenBy)
  const { bulkId } = request
  const bulk = (await begun(parts, request)) ?? (await begin(parts, request, by))
  if (bulk.result !== null) return JSON.parse(bulk.result) as BulkResult

  const work: Work = { parts, request, by, refusals: new Map() }
  const done = new Set((await parts.database.run(BULK_DONE_JOBS, [bulkId])).map(({ jobId }) => jobId))
  for (const { tenantId, type, jobIds } of JSON.parse(bulk.groups) as SelectedGroup[]) {
    const left = jobIds.filter((id) => !done.has(id))
    for (let from = 0; from < left.length; from += CHUNK) {
      const ended = await actOnChunk(work, { tenantId, type, jobIds: left.slice(from, from + CHUNK) })
      if (ended !== null) return ended
    }
  }
  return conclude(work, bulk)
}

/** One call of `runBulk`. */
interface Work {
  readonly parts: OperatingParts
  readonly request: BulkRequest
  readonly by: By
  /** Codes by job. */
  readonly refusals: Map<string, string>
}

/**
 * After a restore: puts aside what has been due for longer than `olderThanMs`, so that not everything fires blindly
 * (J107). A bulk act HOLD; `runBulk` with RELEASE and a filter lets them go on.
 */
export async function holdDueJobs(
  parts: OperatingParts,
  { bulkId, olderThanMs }: { readonly bulkId: string; readonly olderThanMs: number },
  by: By,
): Promise<BulkResult> {
  // The same call again means the moment that it meant the first time.
  const earlier = await bulkAct(parts, bulkId)
  const dueBefore =
    (earlier === null ? undefined : (JSON.parse(earlier.filter) as { dueBefore?: string }).dueBefore) ??
    (await parts.database.run(BEFORE, [olderThanMs]))[0]!.moment
  return runBulk(parts, { bulkId, act: 'HOLD', filter: { dueBefore: new Date(dueBefore), held: false } }, by)
}

const BEFORE = statement<{ readonly moment: Date }>(
  'jobs.moment_before',
  `select date_trunc('milliseconds', now() - $1::float8 * interval '1 millisecond') as moment`,
)

const filterText = (filter: JobFilter): string =>
  JSON.stringify(Object.fromEntries(Object.entries(filter).sort(([a], [b]) => (a < b ? -1 : 1))))

/**
 * The bulk act that was begun with this id; null when it is new.
 * @throws ConflictError `job.bulk_id_reused` when that was another act, or had another filter
 */
export async function begun(
  parts: OperatingParts,
  { bulkId, act, filter }: Pick<BulkRequest, 'bulkId' | 'act' | 'filter'>,
): Promise<BulkActRow | null> {
  const bulk = await bulkAct(parts, bulkId)
  if (bulk !== null && (bulk.act !== `BULK_${act}` || bulk.filter !== filterText(filter))) throw reused()
  return bulk
}

const reused = () =>
  new ConflictError('This bulk id was used for another act or another filter. Use a new one.', {
    code: 'job.bulk_id_reused',
  })

async function bulkAct({ database }: OperatingParts, bulkId: string): Promise<BulkActRow | null> {
  return (await database.run(BULK_ACT, [bulkId]))[0] ?? null
}

async function begin(parts: OperatingParts, request: BulkRequest, by: By): Promise<BulkActRow> {
  const { bulkId, act, filter, expectedJobs } = request
  if (Object.values(filter).every((given) => given === undefined))
    throw new ValidationError('A bulk act needs a filter: say which jobs it is for.', { path: ['filter'] })
  const found = await select(parts.database, allowing(filter, act))
  const more = found.length > MOST_JOBS_IN_BULK
  const selected = found.slice(0, MOST_JOBS_IN_BULK)
  if (expectedJobs !== undefined && selected.length > expectedJobs)
    throw new ConflictError(
      `${selected.length} jobs fit now, ${expectedJobs} were expected; nothing was done. Look at the preview again, ` +
        'or add a moment before which they were created or finished, so that the selection cannot grow.',
      { code: 'job.selection_grew' },
    )
  const selection = { filter: filterText(filter), jobs: selected.length, more, groups: grouped(selected) }
  try {
    await parts.database.run(RECORD_ACTS, [storableJson([{ ...by, id: bulkId, act: `BULK_${act}`, selection }])])
  } catch (error) {
    // The same request came twice at once: both go on with the selection of the one that was first.
    if (sqlState(error) !== '23505') throw error
  }
  const bulk = await begun(parts, request)
  // The id is that of some other entry of the audit.
  if (bulk === null) throw reused()
  return bulk
}

/** Answers with the result when another call has come to the end of this bulk act meanwhile. */
async function actOnChunk(work: Work, { tenantId, type, jobIds }: SelectedGroup): Promise<BulkResult | null> {
  const { parts, request, by, refusals } = work
  const { database, registry } = parts
  const { act, bulkId } = request
  if (!registry.types.includes(type)) {
    for (const id of jobIds) refusals.set(id, 'job.type_unknown_here')
    return null
  }
  try {
    const { result, acted, refused } = await jobTransaction(database, tenantId, async (tx) => {
      const { result, done } = await lockBulk(tx, bulkId, jobIds)
      if (result !== null) return { ...NOTHING, result }
      const left = jobIds.filter((id) => !done.includes(id))
      const performed = await perform(tx, registry.get(type), act, left, by, { partOf: bulkId })
      return { result, acted: new Set([...done, ...performed.acted.keys()]), refused: performed.refused }
    })
    if (result !== null) return JSON.parse(result) as BulkResult
    // What has another status than when it was selected is gone.
    for (const [id, { code }] of refused) if (code !== 'job.wrong_status') refusals.set(id, code)
    const missed = jobIds.filter((id) => !acted.has(id) && !refused.has(id))
    // Still as it was selected, so it was locked by somebody: by the transaction of its own attempt, mostly.
    for (const [id, { status }] of await jobsById(database, missed))
      if (ACT_RULES[act].from.includes(status)) refusals.set(id, 'job.busy')
    return null
  } catch (error) {
    if (isUnreachable(error)) throw error
    if (error instanceof OtherCall) return actOnChunk(work, { tenantId, type, jobIds })
    if (jobIds.length > 1) {
      // One job's domain refuses: that keeps none of the others. Half by half, so that one among 500 costs ten
      // transactions more and not 500.
      const half = Math.ceil(jobIds.length / 2)
      return (
        (await actOnChunk(work, { tenantId, type, jobIds: jobIds.slice(0, half) })) ??
        (await actOnChunk(work, { tenantId, type, jobIds: jobIds.slice(half) }))
      )
    }
    refusals.set(jobIds[0]!, error instanceof UserError ? error.code : 'job.domain_failed')
    return null
  }
}

const NOTHING = { acted: new Set<string>(), refused: new Map<string, UserError>() }

/** Another call of the same bulk act is at its jobs. */
class OtherCall extends Error {}

/**
 * Calls of one bulk act take turns, transaction by transaction: side by side each would find the other's jobs locked,
 * and the first to be through would report as refused what the other was about to do.
 */
async function lockBulk(tx: Queryable, bulkId: string, jobIds: readonly string[]): Promise<BulkProgressRow> {
  try {
    await waitShortly(tx)
    await tx.run(LOCK_BULK, [bulkId])
  } catch (error) {
    throw isLockTimeout(error) ? new OtherCall() : error
  }
  return (await tx.run(BULK_PROGRESS, [bulkId, JSON.stringify(jobIds)]))[0]!
}

/** The one end of a bulk act, whichever call comes to it first. */
async function conclude({ parts, request, by, refusals }: Work, bulk: BulkActRow): Promise<BulkResult> {
  const { bulkId, act } = request
  return parts.database.rawTransaction(async (tx) => {
    const { result: earlier } = await lockBulk(tx, bulkId, [])
    if (earlier !== null) return JSON.parse(earlier) as BulkResult
    const acted = new Set((await tx.run(BULK_DONE_JOBS, [bulkId])).map(({ jobId }) => jobId))
    const perCode = new Map<string, number>()
    const refusedActs: NewAct[] = []
    for (const { tenantId, type, jobIds } of JSON.parse(bulk.groups) as SelectedGroup[])
      for (const jobId of jobIds) {
        const refusal = refusals.get(jobId)
        if (refusal === undefined || acted.has(jobId)) continue
        perCode.set(refusal, (perCode.get(refusal) ?? 0) + 1)
        refusedActs.push({ ...by, id: uuidv7(), act, jobId, type, tenantId, partOf: bulkId, refusal })
      }
    await tx.run(RECORD_ACTS, [storableJson(refusedActs)])
    const refused = refusedActs.length
    const result: BulkResult = {
      bulkId,
      selected: bulk.jobs,
      acted: acted.size,
      refused,
      refusals: [...perCode].map(([code, jobs]) => ({ code, jobs })).sort((a, b) => (a.code < b.code ? -1 : 1)),
      gone: bulk.jobs - acted.size - refused,
      more: bulk.more,
    }
    await recordAct(tx, { ...by, act: `BULK_${act}_DONE`, partOf: bulkId, after: { ...result } })
    return result
  })
}
