import { isUnreachable } from '../../database/index.ts'
import type { JobLogger } from '../job-logger.ts'

const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 60_000

interface Said {
  at: number
  waitMs: number
  leftOut: number
}

/**
 * Says less of a database that is away. Every loop of an engine finds that out for itself, and every ending that waits
 * to be written once more at each try: of each kind of line the first comes at once and the next ones at intervals that
 * double up to a minute, with how many were left out (pain 4: 30,000 lines in 20 seconds). All else passes.
 */
export function saidSeldom(logger: JobLogger): JobLogger {
  // As many entries as there are sentences in the code.
  const said = new Map<string, Said>()
  const seldom =
    (level: keyof JobLogger) =>
    (fields: object, message: string): void => {
      if (!isUnreachable((fields as { err?: unknown }).err)) return logger[level](fields, message)
      const kind = message.replace(/\d+/g, 'n')
      const now = performance.now()
      const last = said.get(kind)
      if (last !== undefined && now - last.at < last.waitMs) {
        last.leftOut++
        return
      }
      // What was not heard of for so long is another outage.
      const sameOutage = last !== undefined && now - last.at < 4 * LONGEST_WAIT_MS
      const waitMs = sameOutage ? Math.min(2 * last.waitMs, LONGEST_WAIT_MS) : FIRST_WAIT_MS
      said.set(kind, { at: now, waitMs, leftOut: 0 })
      const leftOut = last?.leftOut ?? 0
      logger[level](leftOut > 0 ? { ...fields, leftOut } : fields, message)
    }
  return { info: seldom('info'), warn: seldom('warn'), error: seldom('error') }
}
