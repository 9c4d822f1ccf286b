import { GraphQLError } from 'graphql'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Lower-cased, so that one UUID has one spelling everywhere behind the API. */
export function parseUuid(value: unknown): string {
  if (typeof value === 'string' && UUID.test(value)) return value.toLowerCase()
  throw new GraphQLError('UUID must be 32 hexadecimal digits in the form 8-4-4-4-12.')
}
