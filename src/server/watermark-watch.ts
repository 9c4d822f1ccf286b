import type { Database } from '../database/index.ts'
import { watermarkStatus } from '../events/index.ts'
import type { Logger } from './log.ts'
import type { Metrics } from './metrics.ts'

const EVERY_MS = 5_000
const TOO_OLD_SECONDS = 5

/**
 * Looks how long the oldest writing transaction of the server has been open: until it ends, nobody may read what
 * was committed after it began, so every subscription stands still. Whoever holds it is named in the log.
 * @returns what stops it
 */
export function watchWatermark(database: Database, metrics: Metrics, log: Logger): () => Promise<void> {
  let current = Promise.resolve()
  const timer = setInterval(() => {
    current = look().catch((error: unknown) => log.warn({ err: error }, 'cannot read the watermark of the event log'))
  }, EVERY_MS)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await current
  }

  async function look(): Promise<void> {
    const { ageSeconds, heldBack, holder } = await watermarkStatus(database)
    metrics.watermark(ageSeconds, heldBack)
    if (ageSeconds > TOO_OLD_SECONDS && heldBack > 0)
      log.warn({ ageSeconds, heldBack, holder }, 'a long transaction holds back every subscription')
  }
}
