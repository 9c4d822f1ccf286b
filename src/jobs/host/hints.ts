import type pg from 'pg'
import { HintChannel } from '../../events/index.ts'

/**
 * Tells the engines of other processes that something was enqueued, so that they need not wait for their next poll. A
 * process without threads announces with it what its callers have committed; where there are threads, `Jobs.wake` does.
 * Polling stays the truth.
 */
export function jobHints(pool: pg.Pool): HintChannel {
  return new HintChannel(pool, 'regie_job')
}
