import { isLockTimeout, statement } from '../../database/index.ts'
import { maintainPartitions } from '../../events/index.ts'
import type { EngineParts } from '../engine/parts.ts'
import { rescueLostJobs } from '../engine/rescue.ts'
import { FORGET_SLOTS } from './slots.ts'
import type { PeriodicTask } from './ticker.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

/** How long finished jobs, their attempts and their idempotency keys can be found. Failed jobs stay. */
const RETENTION_MS = 30 * DAY

/** Ends the attempts of dead workers. Part of every engine; nothing turns it off (pain 20). */
export const rescueTask = (everyMs: number): PeriodicTask => ({
  name: 'jobs.rescue',
  everyMs,
  run: async (parts) => void (await rescueLostJobs(parts)),
})

/**
 * What keeps the tables small, for one engine per process: it needs Prisma, whose memory the others are spared.
 */
export const HOUSEKEEPING: readonly PeriodicTask[] = [
  {
    name: 'events.partitions',
    everyMs: 5 * MINUTE,
    async run({ database, logger }) {
      const domains = await maintainPartitions(database, { retentionMs: null })
      const attempts = await maintainPartitions(database, { log: JOB_LOG, retentionMs: RETENTION_MS })
      for (const { made, dropped, rescued } of [domains, attempts])
        if (made.length + dropped.length + rescued > 0)
          logger.info({ made, dropped, rescued }, 'The partitions of an event log changed.')
    },
  },
  { name: 'jobs.retention', everyMs: 60 * MINUTE, run: keepFinishedJobsShort },
]

const JOB_LOG = { table: 'job_event', columns: '' }

async function keepFinishedJobsShort({ database, logger }: EngineParts): Promise<void> {
  await database.run(FORGET_SLOTS, [])
  for (const [step, values] of [
    [MAKE_AHEAD, []],
    [DROP_BEFORE, [RETENTION_MS]],
  ] as const)
    try {
      const partitions = await database.systemTransaction((tx) => tx.run(step, values), { lockTimeoutMs: 1_000 })
      if (partitions.length > 0)
        logger.info({ partitions, step: step.name }, 'The partitions of finished jobs changed.')
    } catch (error) {
      // Everybody who writes would queue behind us: give up, the next hour does it.
      if (!isLockTimeout(error)) throw error
    }
  await database.run(FORGET_KEYS, [RETENTION_MS])
}

const MAKE_AHEAD = statement<{ name: string }>(
  'jobs.finished_make_ahead',
  'select name from job_finished_make_ahead() as made(name)',
)

const DROP_BEFORE = statement<{ name: string }>(
  'jobs.finished_drop_before',
  `select name from job_finished_drop_before(now() - $1::float8 * interval '1 millisecond') as dropped(name)`,
)

/** A key goes when its job can no longer be found, so it never stands for nothing. */
const FORGET_KEYS = statement<never>(
  'jobs.forget_keys',
  `delete from job_key k
  where created_at < now() - $1::float8 * interval '1 millisecond'
    and not exists (select from job where id = k.job_id)
    and not exists (select from job_finished where id = k.job_id)`,
)
