import { isSecretName, looksSecret } from '../errors/index.ts'
import type { JobDefinition } from './definition.ts'
import { isStorable } from './json.ts'

/** A payload that may not be stored or cannot be run. `message` names the type and the field, never the value. */
export class PayloadError extends Error {
  constructor(type: string, problem: string) {
    super(`The payload of the job "${type}" ${problem}`)
    this.name = 'PayloadError'
  }
}

export const LARGEST_PAYLOAD_BYTES = 64 * 1024

/** The payload as JSON text, checked: of the declared shape, small, and without anything that names a secret. */
export function payloadToStore<Payload>(definition: JobDefinition<Payload>, payload: Payload): string {
  const checked = parsePayload(definition, payload)
  const secret = secretIn(checked, [])
  if (secret !== null)
    throw new PayloadError(
      definition.type,
      `holds a secret in the field "${secret.join('.')}". Payloads hold no secrets; pass the id of the row that keeps it.`,
    )
  const text = JSON.stringify(checked)
  if (!isStorable(text))
    throw new PayloadError(definition.type, 'holds a character that cannot be stored (NUL or half a surrogate pair).')
  const bytes = Buffer.byteLength(text)
  if (bytes > LARGEST_PAYLOAD_BYTES)
    throw new PayloadError(
      definition.type,
      `is ${bytes} bytes; ${LARGEST_PAYLOAD_BYTES} is the limit. Store the data and pass its id.`,
    )
  return text
}

/**
 * A stored payload as today's handler reads it: upcast version by version, then checked.
 *
 * @throws PayloadError when an upcaster throws, is missing, or what comes out is not as declared
 */
export function readPayload<Payload>(definition: JobDefinition<Payload>, stored: unknown, version: number): Payload {
  let payload = stored
  for (let from = version; from < (definition.payloadVersion ?? 1); from++)
    try {
      payload = definition.upcasters![from]!(payload)
    } catch {
      // Its error may quote the payload.
      throw new PayloadError(
        definition.type,
        `cannot be brought from version ${from} to ${from + 1}: its upcaster threw.`,
      )
    }
  return parsePayload(definition, payload)
}

/** What is wrong with a type's payload versions, in sentences. */
export function payloadProblems({ payloadVersion = 1, upcasters = {} }: VersionOwner): string[] {
  if (!Number.isInteger(payloadVersion) || payloadVersion < 1 || payloadVersion > NEWEST_VERSION)
    return [`payloadVersion is ${payloadVersion}; give a whole number from 1 to ${NEWEST_VERSION}.`]
  const problems: string[] = []
  for (let from = 1; from < payloadVersion; from++)
    if (typeof upcasters[from] !== 'function')
      problems.push(`upcasters[${from}] is missing, so waiting jobs of version ${from} could not run. Give it.`)
  for (const from of Object.keys(upcasters))
    if (!(Number(from) >= 1 && Number(from) < payloadVersion && Number.isInteger(Number(from))))
      problems.push(`upcasters[${from}] leads nowhere: payloadVersion is ${payloadVersion}. Raise it, or take it out.`)
  return problems
}

type VersionOwner = Pick<JobDefinition<never>, 'payloadVersion' | 'upcasters'>

/** PostgreSQL's smallint. */
const NEWEST_VERSION = 32_767

/** @throws PayloadError naming the first field that is not as declared */
export function parsePayload<Payload>(definition: JobDefinition<Payload>, payload: unknown): Payload {
  const parsed = definition.payload.safeParse(payload)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const where = issue === undefined || issue.path.length === 0 ? 'as a whole' : `at "${issue.path.join('.')}"`
  throw new PayloadError(definition.type, `is not of the declared shape ${where}: ${issue?.message ?? 'unknown'}.`)
}

function secretIn(value: unknown, path: readonly string[]): readonly string[] | null {
  if (typeof value === 'string') return looksSecret(value) ? path : null
  if (typeof value !== 'object' || value === null) return null
  for (const [key, inner] of Object.entries(value)) {
    const here = [...path, key]
    if (!Array.isArray(value) && isSecretName(key)) return here
    const deeper = secretIn(inner, here)
    if (deeper !== null) return deeper
  }
  return null
}
