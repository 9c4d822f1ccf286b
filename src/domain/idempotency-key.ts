import { ValidationError } from '../errors/index.ts'

const LONGEST_KEY = 128

/**
 * The idempotency key of a request; null when it has none. One rule for every mutation that takes a key.
 * @throws ValidationError
 */
export function idempotencyKeyOf(input: { readonly idempotencyKey?: string | null | undefined }): string | null {
  const key = input.idempotencyKey ?? null
  if (key !== null && (key.length === 0 || key.length > LONGEST_KEY))
    throw new ValidationError(`An idempotency key has 1 to ${LONGEST_KEY} characters.`, { path: ['idempotencyKey'] })
  return key
}
