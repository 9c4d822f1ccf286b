/**
 * JSON for people who may know what a job is about, but not what stands in it: names of fields and what identifies
 * (UUIDs, numbers, booleans, moments) stay, of every other text only its length.
 */
export function redactedJson(value: unknown): unknown {
  if (typeof value === 'string') return SAFE.test(value) ? value : `[text of ${value.length} characters]`
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(redactedJson)
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, redactedJson(inner)]))
}

// A UUID, or a date or moment in ISO 8601.
const SAFE =
  /^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?)$/i
