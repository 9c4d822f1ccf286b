import { Cron } from 'croner'

const SECOND = 1_000
const FIELDS = /^\S+(\s+\S+){4,5}$/
const NICKNAMES = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']

/**
 * A cron expression over local time, without any zone: croner counts on a calendar of UTC, which has no changes of
 * clocks, and what those do is decided in firings.ts. So whatever croner does at a change (its own rules differ from
 * ours, and older releases went in circles there: croner #286) never happens to us.
 */
export interface CronExpression {
  /** The first local time that fits after this one, both in milliseconds as if local time were UTC; null: never. */
  next(after: number): number | null
  /** Whether the hours are `*`: every hour, so that elapsed time is what counts and not the time of day. */
  readonly everyHour: boolean
}

const known = new Map<string, CronExpression>()

/** @throws Error with croner's explanation, or ours of what croner takes and we do not */
export function cronExpression(text: string): CronExpression {
  let expression = known.get(text)
  if (expression === undefined) {
    expression = parse(text)
    known.set(text, expression)
  }
  return expression
}

function parse(text: string): CronExpression {
  const nickname = NICKNAMES.includes(text.toLowerCase())
  if (!nickname && !FIELDS.test(text))
    throw new Error('it has five fields, or six with seconds first, or is one of ' + NICKNAMES.join(', '))
  // Croner puts the moment at which the expression is read in its place, which differs between processes.
  if (text.includes('?')) throw new Error('"?" would mean the moment at which it is read; write "*"')
  const cron = new Cron(text, { timezone: 'UTC', paused: true })
  const fields = text.split(/\s+/)
  const hours = nickname ? (text.toLowerCase() === '@hourly' ? '*' : '0') : fields.at(-4)!
  return {
    everyHour: hours === '*' || hours === '*/1',
    next: (after) => cron.nextRun(new Date(Math.floor(after / SECOND) * SECOND))?.getTime() ?? null,
  }
}
