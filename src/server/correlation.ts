import type { IncomingMessage } from 'node:http'
import { v7 as uuidv7 } from 'uuid'

// What a log line and an event row can carry without harm; anything else is replaced, not refused.
const SANE = /^[\w.:-]{1,100}$/

/** The request's `x-request-id` when it is a sane one, else a new id. */
export function correlationIdOf(request: IncomingMessage | null): string {
  const given = request?.headers['x-request-id']
  return typeof given === 'string' && SANE.test(given) ? given : uuidv7()
}
