import type { Database } from '../database/index.ts'
import { EVENTS, maintainPartitions } from '../events/index.ts'
import type { Logger } from './log.ts'

const EVERY_MS = 15 * 60_000

/**
 * Makes the event log's partitions ahead of need: once now and then every quarter of an hour, from any number of
 * processes at once. @returns what stops it
 */
export async function keepPartitions(database: Database, log: Logger): Promise<() => Promise<void>> {
  const work = () =>
    maintainPartitions(database, { log: EVENTS, retentionMs: null }).then(
      () => {},
      (error: unknown) => log.warn({ err: error }, 'cannot keep the partitions of the event log; trying again later'),
    )
  await work()
  let current = Promise.resolve()
  const timer = setInterval(() => {
    current = work()
  }, EVERY_MS)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await current
  }
}
