import { GraphQLError } from 'graphql'

const DIGITS = /^-?(0|[1-9]\d{0,18})$/
const LIMIT = 2n ** 63n

/** A 64-bit whole number; a string on the wire because JSON numbers lose digits above 2^53. */
export function parseBigInt(value: unknown): bigint {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value
  if (typeof text === 'string' && DIGITS.test(text)) {
    const number = BigInt(text)
    if (number >= -LIMIT && number < LIMIT) return number
  }
  throw new GraphQLError('BigInt must be a whole number of 64 bits, written as a string of digits.')
}
