import { createHash } from 'node:crypto'
import type { ModelSnapshot } from './model.ts'

/** Plain data, as JSON can say it. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

/** JSON that is the same text for the same meaning: keys in order of code points, no spaces. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value as { readonly [key: string]: Json })
    return `{${entries
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`)
      .join(',')}}`
  }
  return JSON.stringify(value)
}

/** sha-256 in hexadecimal. */
export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** The hash of what a version says, whichever way it came to say it; ids count, the version's own does not. */
export function contentHashOf(model: ModelSnapshot): string {
  const attributes = [...model.attributes.values()].toSorted(byId).map((attribute) => ({
    ...attribute,
    deprecatedAt: attribute.deprecatedAt?.toISOString() ?? null,
    values: attribute.values
      .toSorted(byId)
      .map((value) => ({ ...value, deprecatedAt: value.deprecatedAt?.toISOString() ?? null })),
  }))
  return sha256(canonicalJson(attributes))
}

const byId = (a: { readonly id: string }, b: { readonly id: string }): number => (a.id < b.id ? -1 : 1)
