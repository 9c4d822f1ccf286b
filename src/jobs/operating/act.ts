import type { Database } from '../../database/index.ts'
import { isLockTimeout } from '../../database/index.ts'
import { NotFoundError } from '../../errors/index.ts'
import { jobTransaction } from '../engine/claim-transaction.ts'
import type { JobRegistry } from '../registry.ts'
import { toTenantColumn } from '../tenant.ts'
import { type By, checkedBy } from './by.ts'
import type { JobRow } from './job-row.ts'
import { jobsById } from './list.ts'
import { perform } from './perform.ts'
import { recordingRefusal } from './record.ts'
import { type JobAct, JobActRefusedError, unknownType, wrongStatus } from './rules.ts'
import { waitShortly } from './wait-shortly.ts'

/** What acts need: a database, and the definitions whose domains are told. */
export interface OperatingParts {
  readonly database: Database
  readonly registry: JobRegistry
}

export interface ActedJob {
  /** The row of the audit. */
  readonly actId: string
  /** The job after the act. */
  readonly job: JobRow
}

/**
 * One act on one job, in one transaction: the job, its row in the audit and in the second log, and its domain told.
 * Two operators at once: one wins, the other is refused with the status that it has now. What is refused stands in the
 * audit too, with its code.
 *
 * @throws ValidationError when the reason is blank or too long (path `reason`)
 * @throws NotFoundError when no such job can be found
 * @throws JobActRefusedError
 */
export async function actOnJob(parts: OperatingParts, act: JobAct, jobId: string, givenBy: By): Promise<ActedJob> {
  const by = checkedBy(givenBy)
  const found = (await jobsById(parts.database, [jobId])).get(jobId)
  if (found === undefined) throw new NotFoundError('The job', { code: 'job.not_found' })
  const { type, batchId } = found
  const tried = { ...by, act, jobId, type, batchId, tenantId: toTenantColumn(found.tenantId) }
  return recordingRefusal(parts.database, tried, () => actOnFound(parts, act, found, by))
}

async function actOnFound(
  { database, registry }: OperatingParts,
  act: JobAct,
  found: JobRow,
  by: By,
): Promise<ActedJob> {
  const { jobId } = found
  if (!registry.types.includes(found.type)) throw unknownType(found.type, found.status)
  try {
    return await jobTransaction(database, toTenantColumn(found.tenantId), async (tx) => {
      await waitShortly(tx)
      const { acted, refused } = await perform(tx, registry.get(found.type), act, [jobId], by, { partOf: null })
      const refusal = refused.get(jobId)
      if (refusal !== undefined) throw refusal
      const job = (await jobsById(tx, [jobId])).get(jobId)
      if (job === undefined) throw new NotFoundError('The job', { code: 'job.not_found' })
      const actId = acted.get(jobId)
      // Not in the table where it was to be: it has moved between the look and the lock.
      if (actId === undefined) throw wrongStatus(act, job.status)
      return { actId, job }
    })
  } catch (error) {
    if (!isLockTimeout(error)) throw error
    throw new JobActRefusedError(
      'Somebody else is writing this job at the moment, probably the attempt that runs. Try again in a few seconds.',
      'job.busy',
      found.status,
    )
  }
}
