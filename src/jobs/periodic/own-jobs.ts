import { z } from 'zod'
import { maintainPartitions, type PartitionWork } from '../../events/index.ts'
import { defineJob, succeeded } from '../definition.ts'
import { AttemptContext } from '../engine/context.ts'
import type { AnyJobDefinition } from '../registry.ts'
import { keepTablesSmall, RETENTION_MS } from './retention.ts'
import { defineSchedule, type Schedule } from './schedule.ts'

// The engine's own upkeep, as jobs like any other: operators see it, pause it and run it. They reach the database past
// their context, with raw SQL, so that no thread loads Prisma for them.

const nothing = z.strictObject({})

const JOB_LOG = { table: 'job_event', columns: '' }

const retention = defineJob({
  type: 'jobs.retention',
  class: 'MAINTENANCE',
  payload: nothing,
  timeoutMs: 30 * 60_000,
  idempotency: 'It deletes what is past its time; what is gone already is not there to be deleted.',
  displayName: () => 'Retention of jobs',
  async run(_payload, context) {
    return succeeded({ ...(await keepTablesSmall(AttemptContext.parts(context).database, context.signal)) })
  },
})

const partitions = defineJob({
  type: 'events.partitions',
  class: 'MAINTENANCE',
  payload: nothing,
  timeoutMs: 60 * 60_000,
  idempotency: 'It makes the partitions that are missing and drops those that are past their time.',
  displayName: () => 'Partitions of the event logs',
  async run(_payload, context) {
    const { database } = AttemptContext.parts(context)
    // Neither log waits for the other, and one that cannot be looked after keeps no other.
    const logs = await Promise.allSettled([
      maintainPartitions(database, { retentionMs: null }),
      maintainPartitions(database, { log: JOB_LOG, retentionMs: RETENTION_MS }),
    ])
    const [domains, attempts] = logs.map((log) => {
      if (log.status === 'rejected') throw log.reason
      return log.value
    }) as [PartitionWork, PartitionWork]
    for (const { made, dropped, rescued } of [domains, attempts])
      if (made.length + dropped.length + rescued > 0)
        context.log.info({ made, dropped, rescued }, 'The partitions of an event log changed.')
    return succeeded({ domains, attempts })
  },
})

/** In every registry, without anybody adding them. */
export const ENGINE_JOBS: readonly AnyJobDefinition[] = [retention, partitions]

/** In every process with worker threads. */
export const ENGINE_SCHEDULES: readonly Schedule[] = [
  defineSchedule({ name: retention.type, job: retention, payload: {}, everyMs: 60 * 60_000 }),
  defineSchedule({ name: partitions.type, job: partitions, payload: {}, everyMs: 5 * 60_000 }),
]
