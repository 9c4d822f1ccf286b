import { cronExpression } from './cron.ts'
import { firingsAfter } from './firings.ts'
import type { ScheduleOptions } from './schedule.ts'
import { zoneOf } from './zone.ts'

const NAME = /^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$/
/** With a slot behind it, it is a correlation id, of which 100 characters pass everywhere. */
const LONGEST_NAME = 70
const SHORTEST_MS = 1_000
const LONGEST_MS = 2_147_483_647
const MOST_MISSED = 100

/** Everything that is wrong with a schedule, in sentences. */
export function scheduleProblems<Payload>(options: ScheduleOptions<Payload>): string[] {
  const problems: string[] = []
  const { name, job, payload, everyMs, cron, missed, missedLimit, overlap } = options
  if (!NAME.test(name) || name.length > LONGEST_NAME)
    problems.push(
      `its name is not of the form \`area.action\` (lower case, dotted, at most ${LONGEST_NAME} characters).`,
    )
  if (everyMs !== undefined && cron !== undefined)
    problems.push('it has both `everyMs` and `cron`; which one counts would be a guess. Give one.')
  else if (everyMs !== undefined) problems.push(...intervalProblems(options, everyMs))
  else if (cron !== undefined) problems.push(...cronProblems(options, cron))
  else problems.push('it has neither `everyMs` nor `cron`, so it would never fire. Give one.')
  const parsed = job.payload.safeParse(payload)
  if (!parsed.success)
    problems.push(`its payload is not what "${job.type}" takes: ${parsed.error.issues[0]?.message ?? 'unknown'}.`)
  if (missed === 'RUN_ALL' && overlap !== 'ALLOW')
    problems.push(
      'it makes up for all missed runs (RUN_ALL), of which `overlap` would let only the last one run. Say `overlap: ALLOW`, and limit the job itself (`limits.running`) if its runs may not meet.',
    )
  if (missedLimit !== undefined && missed !== 'RUN_ALL')
    problems.push('`missedLimit` says how many RUN_ALL makes up for; with any other policy it means nothing.')
  if (missedLimit !== undefined && !(Number.isInteger(missedLimit) && missedLimit >= 1 && missedLimit <= MOST_MISSED))
    problems.push(`\`missedLimit\` is a whole number from 1 to ${MOST_MISSED}, not ${missedLimit}.`)
  if (job.onOutcome !== undefined && overlap !== 'ALLOW')
    problems.push(
      `its job "${job.type}" has an \`onOutcome\`, which is not told when a run that waits gives way to the next. A periodic job finds its candidates anew and needs none; or say \`overlap: ALLOW\`.`,
    )
  return problems
}

function intervalProblems<Payload>(options: ScheduleOptions<Payload>, everyMs: number): string[] {
  const problems: string[] = []
  if (!Number.isInteger(everyMs) || everyMs < SHORTEST_MS || everyMs > LONGEST_MS)
    problems.push(
      `\`everyMs\` is a whole number from ${SHORTEST_MS} to ${LONGEST_MS} (24 days), not ${everyMs}. For longer, use \`cron\`.`,
    )
  for (const field of ['timeZone', 'dstGap', 'dstOverlap'] as const)
    if (options[field] !== undefined)
      problems.push(
        `\`${field}\` means nothing to an interval, which counts elapsed time. Leave it out or use \`cron\`.`,
      )
  return problems
}

function cronProblems<Payload>(options: ScheduleOptions<Payload>, cron: string): string[] {
  const problems: string[] = []
  const { timeZone = 'UTC', dstGap = 'RUN_AFTER', dstOverlap = 'ONCE' } = options
  try {
    cronExpression(cron.trim())
  } catch (error) {
    problems.push(`its cron expression "${cron}" cannot be read: ${(error as Error).message}.`)
  }
  try {
    zoneOf(timeZone)
  } catch {
    problems.push(`"${timeZone}" is no time zone that this system knows. Use an IANA name such as Europe/Amsterdam.`)
  }
  if (problems.length > 0) return problems
  const timing = { everyMs: null, cron: cron.trim(), timeZone, dstGap, dstOverlap }
  const [first] = firingsAfter(timing, A_MOMENT)
  if (first === undefined) problems.push(`its cron expression "${cron}" never fires.`)
  return problems
}

/** Any: an expression without years that does not fire within the horizon after one moment fires after none. */
const A_MOMENT = Date.UTC(2026, 0, 1)
