import { GraphQLError } from 'graphql'

// The offset is required: a time without one means another moment in every zone.
const RFC_3339 = /^\d{4}-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/

/** @throws GraphQLError when it is not an RFC 3339 moment with an offset */
export function parseDateTime(value: unknown): Date {
  const match = typeof value === 'string' ? RFC_3339.exec(value) : null
  if (match !== null) {
    const date = new Date(match[0])
    if (!Number.isNaN(date.getTime()) && isCalendarDay(match[0])) return date
  }
  throw new GraphQLError('DateTime must be an RFC 3339 moment with an offset, such as "2026-11-30T12:00:00.000Z".')
}

/** JavaScript reads "02-30" as March 2nd; a calendar does not. */
function isCalendarDay(text: string): boolean {
  const day = text.slice(0, 10)
  const date = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().slice(0, 10) === day
}

export function serializeDateTime(value: unknown): string {
  const date = value instanceof Date ? value : new Date(value as string)
  return date.toISOString()
}

/** @throws GraphQLError when it is not a day of the calendar */
export function parseDay(value: unknown): string {
  if (typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value) && isCalendarDay(value)) return value
  throw new GraphQLError('Date must be a calendar day, such as "2026-11-30".')
}

/** The database's `date` arrives as midnight UTC. */
export const serializeDay = (value: unknown): string =>
  value instanceof Date ? value.toISOString().slice(0, 10) : String(value)
