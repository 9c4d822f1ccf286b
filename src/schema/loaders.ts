import DataLoader from 'dataloader'
import type { ApiContext } from './context.ts'
import type { Call } from '../domain/call.ts'

/**
 * A reader of single things that asks the domain for all of one operation at once. Its cache lives as long as
 * the context: one operation, or one event of a subscription.
 */
export function loaderOf<Key extends string, Value>(
  readMany: (call: Call, keys: readonly Key[]) => Promise<ReadonlyMap<Key, Value>>,
): (context: ApiContext) => DataLoader<Key, Value | null> {
  const make = (context: ApiContext) =>
    new DataLoader<Key, Value | null>(async (keys) => {
      const found = await readMany(context.call(), keys)
      return keys.map((key) => found.get(key) ?? null)
    })
  return (context) => context.once(make, make)
}
