import type { Queryable } from '../../database/index.ts'
import type { JobStatus } from '../definition.ts'
import type { SelectedGroup } from '../sql/bulk.ts'
import { type SelectedRow, selecting } from '../sql/list-jobs.ts'
import type { OperatingParts } from './act.ts'
import type { JobFilter } from './job-row.ts'
import { finishedThatFit } from './list.ts'
import { ACT_RULES, type JobAct } from './rules.ts'

/** Most jobs that one bulk act touches; run it again for the rest. */
export const MOST_JOBS_IN_BULK = 10_000

/** How many ids a preview shows. */
const SAMPLE = 20

export interface BulkPreview {
  /** Jobs that fit the filter, and to which the act can be and need be done; at most `MOST_JOBS_IN_BULK`. */
  readonly jobs: number
  /** There are more than one bulk act touches. */
  readonly beyondLimit: boolean
  readonly perType: readonly { readonly type: string; readonly jobs: number }[]
  /** The first 20, oldest first. */
  readonly sample: readonly string[]
  /** Fit the filter, but their status does not allow the act; counted over the first `MOST_JOBS_IN_BULK`. */
  readonly refused: readonly { readonly status: JobStatus; readonly jobs: number }[]
  /** Types of the selection that no release here knows: their jobs would be refused. */
  readonly unknownTypes: readonly string[]
}

/** What `runBulk` would do, without doing it; what the domain says of each job (`stillValid`) is not asked. */
export async function previewBulk(parts: OperatingParts, filter: JobFilter, act: JobAct): Promise<BulkPreview> {
  const found = await select(parts.database, allowing(filter, act))
  const selected = found.slice(0, MOST_JOBS_IN_BULK)
  const others = (filter.statuses ?? STATUSES).filter((status) => !ACT_RULES[act].from.includes(status))
  const refused = others.length === 0 ? [] : await select(parts.database, { ...filter, statuses: others })
  const perType = tally(selected.map(({ type }) => type))
  return {
    jobs: selected.length,
    beyondLimit: found.length > MOST_JOBS_IN_BULK,
    perType: perType.map(([type, jobs]) => ({ type, jobs })),
    sample: selected.slice(0, SAMPLE).map(({ jobId }) => jobId),
    refused: tally(refused.slice(0, MOST_JOBS_IN_BULK).map(({ status }) => status)).map(([status, jobs]) => ({
      status,
      jobs,
    })),
    unknownTypes: perType.map(([type]) => type).filter((type) => !parts.registry.types.includes(type)),
  }
}

const STATUSES: readonly JobStatus[] = [
  'SCHEDULED',
  'RETRY_SCHEDULED',
  'PROCESSING',
  'SUCCEEDED',
  'FAILED',
  'CANCELLED',
]

/**
 * The filter, narrowed to what allows the act and is not as it wants it already: whoever goes on after the first
 * `MOST_JOBS_IN_BULK` would get the same ones again.
 */
export const allowing = (filter: JobFilter, act: JobAct): JobFilter => ({
  ...filter,
  ...(act === 'RUN_NOW' ? { due: false } : {}),
  ...(act === 'HOLD' || act === 'RELEASE' ? { held: filter.held ?? act === 'RELEASE' } : {}),
  statuses: ACT_RULES[act].from.filter((status) => filter.statuses?.includes(status) ?? true),
})

/** The oldest that fit, one more than a bulk act takes. */
export async function select(on: Queryable, filter: JobFilter): Promise<SelectedRow[]> {
  const { statement, values } = selecting(filter, MOST_JOBS_IN_BULK + 1, await finishedThatFit(on, filter))
  return on.run(statement, values)
}

/** What one transaction can take together, each group oldest first. */
export function grouped(rows: readonly SelectedRow[]): SelectedGroup[] {
  const groups = new Map<string, { tenantId: string; type: string; jobIds: string[] }>()
  for (const { tenantId, type, jobId } of rows) {
    const key = `${tenantId} ${type}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, { tenantId, type, jobIds: [jobId] })
    else group.jobIds.push(jobId)
  }
  return [...groups.values()]
}

function tally<Key extends string>(keys: readonly Key[]): [Key, number][] {
  const counts = new Map<Key, number>()
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1))
}
