import type { Json } from '../model/canonical.ts'

/** The place after all that have one; of two in one place the older id comes first, so the very last may be shared. */
export const nextPlace = (things: Iterable<{ readonly sortOrder: number }>): number =>
  Math.min(Math.max(-1, ...[...things].map(({ sortOrder }) => sortOrder)) + 1, LAST_PLACE)

// What the column and GraphQL's Int can hold.
const LAST_PLACE = 2 ** 31 - 1

/** Of the input's fields those that were given. */
export function given<Input extends object, Key extends string>(
  input: Input,
  keys: readonly Key[],
): Partial<Pick<Input, Key & keyof Input>> {
  const entries = Object.entries(input).filter(([key, value]) => value !== undefined && keys.includes(key as Key))
  return Object.fromEntries(entries) as Partial<Pick<Input, Key & keyof Input>>
}

/** What the operation log keeps of an update: the fields that changed; null when none did. */
export function difference<State extends Record<string, Json>>(
  before: State,
  after: State,
): { readonly before: Json; readonly after: Json } | null {
  const changed = Object.keys(after).filter((key) => before[key] !== after[key])
  if (changed.length === 0) return null
  const only = (state: State): Json => Object.fromEntries(changed.map((key) => [key, state[key] as Json]))
  return { before: only(before), after: only(after) }
}
