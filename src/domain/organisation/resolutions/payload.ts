import type { AnyResolutionAction, PayloadProblem } from './action.ts'
import { invalid } from './action.ts'

/** Longest payload, in bytes of JSON. */
export const MOST_PAYLOAD_BYTES = 65_536
const MOST_LEVELS = 10

/**
 * The payload of an action from its stored text, or what is wrong with it (C43). Nothing and JSON `null` are the
 * same as an empty payload.
 */
export function parsePayload(
  action: AnyResolutionAction,
  text: string | null,
): { readonly payload: unknown; readonly problems: readonly PayloadProblem[] } {
  if (text !== null && Buffer.byteLength(text) > MOST_PAYLOAD_BYTES)
    return { payload: null, problems: [invalid([], `The payload is longer than ${MOST_PAYLOAD_BYTES} bytes.`)] }
  let json: unknown
  try {
    json = text === null ? {} : (JSON.parse(text) ?? {})
  } catch {
    return { payload: null, problems: [invalid([], 'The payload is not JSON.')] }
  }
  if (isDeeper(json, MOST_LEVELS))
    return { payload: null, problems: [invalid([], `The payload is nested deeper than ${MOST_LEVELS} levels.`)] }
  const parsed = action.payload.safeParse(json)
  if (parsed.success) return { payload: parsed.data, problems: [] }
  return {
    payload: null,
    problems: parsed.error.issues.map(({ path, message }) =>
      invalid(
        path.map((step) => (typeof step === 'symbol' ? String(step) : step)),
        message,
      ),
    ),
  }
}

// Gives up at the limit: what is nested a thousandfold must not be walked to its end.
function isDeeper(json: unknown, levels: number): boolean {
  if (typeof json !== 'object' || json === null) return false
  return levels === 0 || Object.values(json).some((item) => isDeeper(item, levels - 1))
}
