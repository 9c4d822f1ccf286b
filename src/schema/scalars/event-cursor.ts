import { GraphQLError } from 'graphql'

const LONGEST = 512

/** Only the shape is checked here; whose cursor it is and whether it has lapsed, the stream tells. */
export function parseEventCursor(value: unknown): string {
  if (typeof value === 'string' && value !== '' && value.length <= LONGEST) return value
  throw new GraphQLError('EventCursor must be a cursor that this API gave out.')
}
