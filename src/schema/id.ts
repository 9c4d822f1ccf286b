import { apiError } from './errors/index.ts'

/**
 * The short tag that an opaque id carries for its type. Frozen: a client may keep an id for years, so a tag is
 * never changed and never used again (a test holds them).
 */
export const ID_TAGS = {
  Tenant: 'ten',
  OrgModelVersion: 'omv',
  OrgModelResolution: 'omr',
  Persona: 'psn',
  Person: 'prs',
  OperatedJob: 'job',
  JobBatch: 'jbt',
} as const

export type IdType = keyof typeof ID_TAGS

const TYPES = new Map<string, IdType>(Object.entries(ID_TAGS).map(([type, tag]) => [tag, type as IdType]))
const TAG_BYTES = 3
const UUID_BYTES = 16

/** The opaque id of a thing: three letters of tag and the sixteen bytes of its UUID, in base64url. */
export function encodeId(type: IdType, uuid: string): string {
  return Buffer.concat([Buffer.from(ID_TAGS[type]), Buffer.from(uuid.replaceAll('-', ''), 'hex')]).toString('base64url')
}

/** What an opaque id stands for; null when it is none of ours. Accepts only the one spelling `encodeId` gives. */
export function readId(id: string): { type: IdType; uuid: string } | null {
  const bytes = Buffer.from(id, 'base64url')
  if (bytes.length !== TAG_BYTES + UUID_BYTES || bytes.toString('base64url') !== id) return null
  const type = TYPES.get(bytes.toString('latin1', 0, TAG_BYTES))
  if (type === undefined) return null
  const hex = bytes.toString('hex', TAG_BYTES)
  return { type, uuid: hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5') }
}

/**
 * The UUID in an opaque id of the given type.
 * @throws BAD_USER_INPUT with the place in the input when it is not such an id
 */
export function decodeId(type: IdType, id: string | number, path: readonly string[]): string {
  const read = readId(String(id))
  if (read?.type === type) return read.uuid
  const found = read === null ? 'This is not an id of this API.' : `This is the id of another type (${read.type}).`
  throw apiError('BAD_USER_INPUT', `"${path.join('.')}" must be the id of a ${type}. ${found}`, { inputPath: path })
}

/** Options of an argument or input field that takes such an id. The extension tells tests which type it is for. */
export const idArg = (type: IdType, description: string) => ({ description, extensions: { idOf: type } })
